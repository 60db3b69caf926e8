"""Reductions: sums, smallest and largest elements, and where they are."""
