"""The rungs of the transposes, a file each, and the copy: all read from top to bottom."""
