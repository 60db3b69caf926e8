"""The rungs of the product ladder, a file each: every kernel reads from top to bottom."""
