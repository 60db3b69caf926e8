"""What machine instructions do, by family: each module puts makers of steps into the tables.

To import this package fills the tables of `semantics` and `control`.
"""

from . import accesses, atomics, bits, control, conversions, exchange, floats, integers

__all__ = [
    "accesses",
    "atomics",
    "bits",
    "control",
    "conversions",
    "exchange",
    "floats",
    "integers",
]
