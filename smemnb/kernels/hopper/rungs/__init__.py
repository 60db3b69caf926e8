"""The rungs of the ladder, a file each."""
