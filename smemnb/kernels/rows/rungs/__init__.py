"""One kernel per file, to be read from top to bottom; `ladder.py` has them in order."""
