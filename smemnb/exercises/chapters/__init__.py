"""The exercises themselves, one file per chapter; every `EXERCISES` in here is found by itself."""
