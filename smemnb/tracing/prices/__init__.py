"""What a launch pays without need, found when it is over: from its counts and its typed program.

`prices.py` gathers them: `coalescing` (sectors), `padding` (wavefronts that a pad should have
freed), `arithmetic` (float64 in a float32 kernel), `shared_memory` (blocks per SM, unused arrays).
None of them looks at single accesses, so they cost a trace next to nothing.
"""

from .prices import Prices

__all__ = ["Prices"]
