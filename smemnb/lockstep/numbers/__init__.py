"""Arithmetic as a GPU does it: result types (`typing_rules`), operators, functions of math."""
