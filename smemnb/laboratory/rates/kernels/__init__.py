"""The kernels: `chains` of instructions, `shared` memory, `waits`, the whole GPU in `streams`."""
