"""Exercises of the first chapters: threads, shared memory, banks."""
