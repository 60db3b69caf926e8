"""Lines of solutions that the checker does not miss, and why each may be missing.

Exercise -> line of its solution, as it stands there without its comment -> the reason.
"""

EQUIVALENTS: dict[str, dict[str, str]] = {}
