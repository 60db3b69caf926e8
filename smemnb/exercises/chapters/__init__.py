"""The exercises themselves: a room per part of the course, in it a file or folder per chapter."""
