"""Import paths of earlier chapters, for copies that learners have made of them.

Each exercise had a module in a folder of its part of the course and chapter; its functions are now
in the module that has the name of the exercise.
"""

import sys
from importlib import import_module

from .. import paper

__all__ = ["paper"]

_MOVED = {
    "ch05_tiled_matmul.product": "ex05_product",
    "ch06_register_tiling.square": "ex06_square",
    "ch06_register_tiling.turned": "ex06_turned",
    "ch07_double_buffering.ahead": "ex07_ahead",
    "ch07_double_buffering.walk": "ex07_walk",
}

sys.modules[f"{__name__}.ch08b_checkpoint"] = sys.modules[__name__]
for _old, _new in _MOVED.items():
    _chapter = _old.split(".")[0]
    sys.modules[f"{__name__}.{_chapter}"] = sys.modules[__name__]
    sys.modules[f"{__name__}.{_old}"] = import_module(f"..{_new}", __name__)
