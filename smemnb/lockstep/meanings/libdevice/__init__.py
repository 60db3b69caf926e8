"""The functions of cuda.libdevice."""
