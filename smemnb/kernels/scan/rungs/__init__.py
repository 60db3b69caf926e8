"""The rungs of the scan, a file each."""
