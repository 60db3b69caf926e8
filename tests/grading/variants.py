"""Sixty right answers in other words than the solutions': each is a few edits of a solution.

A variant is the exercise, a name, and edits (old, new) of its file, `chapter_text`; "notebook" in
its name makes each top-level piece of the file a cell of a notebook.
"""

import re

from smemnb.exercises.registry import find
from tests.grading.conftest import notebook
from tests.grading.submitted import chapter_text

IMPORT = "from numba import cuda, float32\n"
TWICE = "@cuda.jit(device=True)\ndef twice(x):\n    return x + x\n\n\n@cuda.jit\ndef scale("


def _dtype(spelled, extra=""):
    """Edits that name float32 in another way."""
    return [
        ("float32", spelled),
        (f"from numba import cuda, {spelled}\n", f"from numba import cuda\n{extra}"),
    ]


def _tile(spelled, extra=""):
    return [("TILE = 128", f"{extra}TILE = {spelled}")]


VARIANTS = [
    # constants
    ("ex01_place", "a product", _tile("64 * 2")),
    ("ex01_place", "a power", _tile("2 ** 7")),
    ("ex01_place", "a shift", _tile("1 << 7")),
    ("ex01_place", "hexadecimal", _tile("0x80")),
    ("ex01_place", "warps", _tile("WARPS * 32", "WARPS = 4\n")),
    ("ex01_place", "integer division", _tile("N // 2", "N = 256\n")),
    ("ex01_place", "annotated", [("TILE = 128", "TILE: int = 128")]),
    ("ex01_place", "unpacked", [("TILE = 128", "ROWS, TILE = 1, 128")]),
    ("ex01_place", "of a tuple", _tile("SHAPE[0]", "SHAPE = (128, 1)\n")),
    ("ex01_place", "with math", _tile("int(math.sqrt(128 * 128))", "import math\n")),
    ("ex01_place", "max", _tile("max(128, 97)")),
    ("ex01_place", "bytes", _tile("512 // np.dtype(np.float32).itemsize")),
    ("ex01_place", "grown", [("TILE = 128", "TILE = 100\nTILE += 28")]),
    ("ex01_place", "a literal in the kernel", [("TILE = 128", ""), ("(TILE,", "(128,")]),
    ("ex01_place", "by keyword", [("(TILE, float32)", "(shape=TILE, dtype=float32)")]),
    ("ex01_place", "a tuple for a shape", [("(TILE, float32)", "((TILE,), float32)")]),
    (
        "ex01_place",
        "a shape of the file",
        [("TILE = 128", "SHAPE = (128,)"), ("(TILE,", "(SHAPE,")],
    ),
    ("ex01_place", "conditional", _tile("128 if WIDE else 64", "WIDE = True\n")),
    ("ex01_place", "under if", [("TILE = 128", "if 2 > 1:\n    TILE = 128\nelse:\n    TILE = 1")]),
    ("ex02_pitch", "a sum", [("PITCH = 25", "COLS = 24\nPITCH = COLS + 1")]),
    ("ex02_pitch", "or", [("PITCH = 25", "PITCH = 24 | 1")]),
    ("ex02_pitch", "a default of float32", [("float32(0)", "np.float32(0)")]),
    (
        "ex02_pitch",
        "zero of the file",
        [("float32(0)", "ZERO"), ("PITCH = 25", "PITCH, ZERO = 25, float32(0)")],
    ),
    # numbers and types
    (
        "ex05_longest",
        "inf of math",
        [("NOTHING = np.float32(-np.inf)", "import math\nNOTHING = np.float32(-math.inf)")],
    ),
    (
        "ex05_longest",
        "inf as text",
        [("NOTHING = np.float32(-np.inf)", "NOTHING = float32(float('-inf'))")],
    ),
    (
        "ex05_longest",
        "inf of numba",
        [("NOTHING = np.float32(-np.inf)", "NOTHING = -float32(np.inf)")],
    ),
    (
        "ex05_longest",
        "inf in the kernel",
        [
            ("NOTHING = np.float32(-np.inf)", "NOTHING = -np.inf"),
            ("] = NOTHING", "] = float32(-np.inf)"),
        ],
    ),
    (
        "ex05_longest",
        "inf by from",
        [("NOTHING = np.float32(-np.inf)", "from math import inf\nNOTHING = np.float32(-inf)")],
    ),
    ("ex05_product", "numpy types", _dtype("np.float32")),
    ("ex05_product", "numba as nb", _dtype("nb.float32", "import numba as nb\n")),
    ("ex05_product", "types of numba", _dtype("types.float32", "from numba import types\n")),
    ("ex05_product", "f4", _dtype("f4", "from numba import f4\n")),
    ("ex05_product", "under another name", _dtype("real", "from numba import float32 as real\n")),
    ("ex05_product", "a type of the file", _dtype("REAL", "REAL = np.float32\n")),
    ("ex05_product", "a type by cuda", _dtype("cuda.float32")),
    ("ex05_product", "types imported", _dtype("float32", "from numba.types import float32\n")),
    ("ex05_product", "float32 of numpy", _dtype("float32", "from numpy import float32\n")),
    # modules and decorators
    (
        "ex00_scale",
        "numba.cuda",
        [(IMPORT.replace(", float32", ""), "import numba.cuda\n"), ("cuda.", "numba.cuda.")],
    ),
    (
        "ex00_scale",
        "cuda as gpu",
        [(IMPORT.replace(", float32", ""), "from numba import cuda as gpu\n"), ("cuda.", "gpu.")],
    ),
    (
        "ex00_scale",
        "names of cuda",
        [(IMPORT.replace(", float32", ""), "from numba.cuda import jit, grid\n"), ("cuda.", "")],
    ),
    (
        "ex00_scale",
        "a star",
        [(IMPORT.replace(", float32", ""), "from numba.cuda import *\n"), ("cuda.", "")],
    ),
    ("ex00_scale", "a call of jit", [("@cuda.jit\n", "@cuda.jit()\n")]),
    ("ex00_scale", "fastmath", [("@cuda.jit\n", "@cuda.jit(fastmath=True)\n")]),
    (
        "ex00_scale",
        "options",
        [("@cuda.jit\n", "@cuda.jit(max_registers=64, lineinfo=True, cache=True)\n")],
    ),
    (
        "ex00_scale",
        "jit by hand",
        [("@cuda.jit\ndef scale", "def plain"), ("check(", "scale = cuda.jit(plain)\ncheck(")],
    ),
    ("ex00_scale", "another name", [("scale(", "mine("), (", scale)", ", mine)")]),
    ("ex00_scale", "an alias", [("check(", "mine = scale\ncheck("), (", scale)", ", mine)")]),
    ("ex00_scale", "main", [("check(", 'if __name__ == "__main__":\n    check(')]),
    (
        "ex00_scale",
        "a function that checks",
        [("check(", "def main():\n    check("), (", scale)", ", scale)\n\n\nmain()")],
    ),
    ("ex00_scale", "lines of windows", [("\n", "\r\n")]),
    # device functions
    (
        "ex00_scale",
        "a device function",
        [("@cuda.jit\ndef scale(", TWICE), ("2 * inp[i]", "twice(inp[i])")],
    ),
    (
        "ex00_scale",
        "inline",
        [
            ("@cuda.jit\ndef scale(", TWICE.replace("device=True", "device=True, inline='always'")),
            ("2 * inp[i]", "twice(inp[i])"),
        ],
    ),
    (
        "ex00_scale",
        "declared device",
        [
            (
                "@cuda.jit\ndef scale(",
                "from numba import float32\n\n\n"
                + TWICE.replace("device=True", "float32(float32), device=True"),
            ),
            ("2 * inp[i]", "twice(inp[i])"),
        ],
    ),
    (
        "ex00_scale",
        "defined below",
        [
            ("2 * inp[i]", "twice(inp[i])"),
            ("check(", TWICE[: TWICE.index("\n\n\n")] + "\n\n\ncheck("),
        ],
    ),
    (
        "ex00_scale",
        "a default",
        [
            (
                "@cuda.jit\ndef scale(",
                "import numpy as np\n\nTWO = np.float32(2)\n\n\n"
                + TWICE.replace("(x)", "(x, y=TWO)").replace("x + x", "y * x"),
            ),
            ("2 * inp[i]", "twice(inp[i])"),
        ],
    ),
    (
        "ex00_scale",
        "two levels",
        [
            (
                "@cuda.jit\ndef scale(",
                "@cuda.jit(device=True)\ndef once(x):\n    return x\n\n\n"
                + TWICE.replace("x + x", "once(x) + once(x)"),
            ),
            ("2 * inp[i]", "twice(inp[i])"),
        ],
    ),
    ("ex07_ahead", "other device names", [("fetch", "take_one")]),
    # notebooks
    ("ex01_place", "notebook", []),
    (
        "ex05_product",
        "notebook with magics",
        [("TILE = 16", "%matplotlib inline\nTILE = 16\n!ls\n")],
    ),
    ("ex06_turned", "notebook", []),
    ("ex04_records", "notebook", []),
]


def text_of(exercise, edits):
    """The file of a variant; every edit changes something."""
    text = chapter_text(find(exercise))
    solution = find(exercise).solution.py_func.__name__
    text = f'{text}\n\ncheck("{exercise}", {solution})\n'
    for old, new in edits:
        assert old in text, (exercise, old)
        text = text.replace(old, new)
    return text


def files_of(exercise, what, edits):
    """The files of a variant."""
    text = text_of(exercise, edits)
    if not what.startswith("notebook"):
        return {"k.py": text.encode()}
    cells = [cell for cell in re.split(r"\n\n\n+", text) if cell.strip()]
    return {"k.ipynb": notebook(cells).encode()}
