"""Reductions out of factories: of any dtype and layout."""
