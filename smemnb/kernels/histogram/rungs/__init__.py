"""The rungs of the histogram, a file each: all read from top to bottom."""
