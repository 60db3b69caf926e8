"""Kernels out of the text of a submission: what names stand for, and what is not guessed."""

import json
import math

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.grading.judging import judge
from smemnb.grading.kernel_names import known_names
from smemnb.grading.program import Program, live
from smemnb.grading.taking import NotTaken, take
from tests.facts import facts
from tests.grading.conftest import notebook

KNOWN = known_names()
IMPORTS = "import math\nimport numpy as np\nimport numba\nfrom numba import cuda, float32, int32\n"
KERNEL = "@cuda.jit\ndef scale(out, inp):\n    i = cuda.grid(1)\n    out[i] = N * inp[i]\n"
CHECK = "check('ex00_scale', scale)\n"


def taken(content, name="ex00_scale", **files):
    """The first answer to an exercise in a text (a .py file) or a list of cells (a notebook)."""
    given = {f"{path.replace('__', '/')}.py": text.encode() for path, text in files.items()}
    if isinstance(content, str):
        given["zz.py"] = content.encode()
    else:
        given["zz.ipynb"] = notebook(content).encode()
    return take(given, KNOWN).answers[name][0]


def value(program, name="N"):
    """What a name in the kernel stands for; a number in place of a function."""
    return live(program.kernel.names[name], tuple(range(100)))


CONSTANTS = [
    *(
        ("3", 3),
        ("-7", -7),
        ("2.5", 2.5),
        ("1e-3", 1e-3),
        ("0x1F", 31),
        ("1_000", 1000),
        ("True", True),
    ),
    *(("None", None), ("'float32'", "float32"), ("(4, 5)", (4, 5)), ("4,", (4,)), ("()", ())),
    *(("2 + 3 * 4", 14), ("7 // 2", 3), ("7 / 2", 3.5), ("-7 % 4", 1), ("2 ** 10", 1024)),
    *(
        ("1 << 5", 32),
        ("33 & ~1", 32),
        ("5 ^ 1 | 8", 12),
        ("not 0", True),
        ("(1, 2) + (3,)", (1, 2, 3)),
    ),
    *(("(0,) * 3", (0, 0, 0)), ("3 if 2 > 1 else 4", 3), ("1 < 2 < 3", True), ("0 or 5", 5)),
    *(("(4, 5)[1]", 5), ("(4, 5, 6)[1:]", (5, 6)), ("(4, 5)[-1]", 5), ("(*(1, 2), 3)", (1, 2, 3))),
    *(("math.pi", math.pi), ("np.pi", math.pi), ("math.inf", math.inf), ("-np.inf", -math.inf)),
    *(("float('inf')", math.inf), ("float('-inf')", -math.inf), ("int('12')", 12), ("int(2.5)", 2)),
    *(
        ("np.float32(1.5)", np.float32(1.5)),
        ("float32(0)", np.float32(0)),
        ("numba.float32(2)", np.float32(2)),
    ),
    *(
        ("np.float32(-np.inf)", np.float32(-np.inf)),
        ("int32(7)", np.int32(7)),
        ("np.int8(-3)", np.int8(-3)),
    ),
    *(
        ("cuda.float32(2)", np.float32(2)),
        ("numba.types.float32(2)", np.float32(2)),
        ("np.uint8(255)", np.uint8(255)),
    ),
    *(("np.float32", np.float32), ("float32", float32), ("numba.int32", int32)),
    *(("np.dtype('float32')", np.dtype("float32")), ("np.dtype(np.int16)", np.dtype("int16"))),
    *(("np.finfo(np.float32).max", np.finfo(np.float32).max), ("np.iinfo(np.int32).min", -(2**31))),
    *(
        ("np.dtype(np.float32).itemsize", 4),
        ("float32.bitwidth // 8", 4),
        ("int(math.sqrt(64))", 8),
    ),
    *(("math.ceil(70 / 32) * 32", 96), ("math.log2(32)", 5.0), ("max(3, 4)", 4), ("abs(-3)", 3)),
    *(
        ("min((3, 2))", 2),
        ("len((1, 2))", 2),
        ("sum([1, 2, 3])", 6),
        ("tuple(range(3))", (0, 1, 2)),
    ),
    *(("tuple([1, 2])", (1, 2)), ("round(2.5)", 2), ("divmod(7, 2)", (3, 1)), ("pow(2, 5)", 32)),
    *(("2 ** -1", 0.5), ("1 + 2j", 1 + 2j), ("np.sqrt(np.float32(4))", np.float32(2))),
    *(("math.gcd(12, 18)", 6), ("np.bool_(True)", np.bool_(True)), ("math", math), ("cuda", cuda)),
]


@pytest.mark.parametrize(("text", "expected"), CONSTANTS, ids=[text for text, _ in CONSTANTS])
def test_constants(text, expected):
    """The grader works out what Python would, with the same type."""
    found = value(taken(f"{IMPORTS}N = {text}\n{KERNEL}{CHECK}"))
    assert repr(found) == repr(expected)
    assert isinstance(found, type(expected)) or isinstance(expected, float)


def test_array_constant():
    """A table of literal numbers, as `cuda.const.array_like` takes it."""
    text = "N = np.array([[1, 2], [3, 4]], dtype=np.float32)\n"
    found = value(taken(IMPORTS + text + KERNEL + CHECK))
    assert (found.dtype, found.tolist()) == (np.float32, [[1, 2], [3, 4]])


NOT_CONSTANT = {
    "compute()": ("compute",),
    "9 ** 9 ** 9": ("bits",),
    "1 << 10 ** 9": ("bits",),
    "'a' * 10 ** 9": ("str",),
    "'%01000000000d' % 1": ("str",),
    "(0,) * 10 ** 9": ("1000000000",),
    "((0,) * 4000,) * 4000": ("4096",),
    "tuple(range(10 ** 12))": ("4096",),
    "round(5, -10 ** 9)": ("100",),
    "int('9' * 10 ** 8)": ("str",),
    "math.factorial(10 ** 6)": ("math.factorial",),
    "np.zeros(10 ** 12)": ("numpy.zeros",),
    "np.load('x.npy')": ("numpy.load",),
    "np.random.rand()": ("numpy.random.rand",),
    "open('x').read()": ("open",),
    "eval('3')": ("eval",),
    "__import__('os').getpid()": ("__import__",),
    "int(input())": ("input",),
    "[3 for _ in range(3)][0]": ("comprehension",),
    "[1, 2]": ("list",),
    "{1: 2}[1]": ("dictionary",),
    "lambda x: x": ("lambda",),
    "f'{3}'": ("f-string",),
    "b'x'": (),
    "...": (),
    "1 / 0": ("ZeroDivisionError",),
    "(1, 2)[5]": ("IndexError",),
    "2.0 ** 10000": ("OverflowError",),
    "math.__loader__": ("math.__loader__",),
    "np.float32.__subclasses__()": ("__subclasses__",),
    "(1).__class__": ("__class__",),
    "cuda.get_current_device().WARP_SIZE": ("numba.cuda.get_current_device",),
    "cuda.jit": ("numba.cuda.jit",),
    "undefined_name + 1": ("undefined_name",),
    "(1 if cuda.is_available() else 2)": ("numba.cuda.is_available",),
    "2 ** 300": (),
}


@pytest.mark.parametrize("text", NOT_CONSTANT)
def test_not_a_constant(text):
    """What is no constant of bounded size is not computed; the reason names it, and the line."""
    one = taken(f"{IMPORTS}N = {text}\n{KERNEL}{CHECK}")
    assert isinstance(one, NotTaken)
    assert "scale needs N" in one.why and "--execute" in one.why
    assert one.place == "zz.py, line 7" and (
        text == "2 ** 300" or "line 5" in one.why or "is not for" in one.why
    )
    for word in NOT_CONSTANT[text]:
        assert word in one.why, one.why


BOUND = {
    "N = M = 3": 3,
    "M, N = 2, 3": 3,
    "(M, (N, K)) = 1, (3, 4)": 3,
    "M = N = 0\nN += 3": 3,
    "N: int = 3": 3,
    "N = 1\nM = N + 2\nN = M": 3,
    "if True:\n    N = 3\nelse:\n    N = 4": 3,
    "DEBUG = False\nif DEBUG:\n    N = 4\nelse:\n    N = 3": 3,
    "if __name__ == '__main__':\n    N = 3": 3,
    "with open('x') as f:\n    N = 3": 3,
    "try:\n    N = 3\nfinally:\n    M = 1": 3,
    "try:\n    from math import pi as N\nexcept ImportError:\n    N = 3": math.pi,
    "print(N := 3)": 3,
    "N = 4\ndel N\nN = 3": 3,
    "def f():\n    N = 5\nN = 3": 3,
    "N = open('x')\nN = 3": 3,
    "for N in range(9):\n    pass\nN = 3": 3,
    "from math import *\nN = pi": math.pi,
    "from numba.cuda import *\nN = 3": 3,
    "import numba.cuda as c\nN = c.float32": float32,
    "import numpy as n, math as m\nN = n.float32(m.floor(3.5))": np.float32(3),
    "from numpy import float32 as f\nN = f(3)": np.float32(3),
    "from numba import types\nN = types.float32": float32,
    "from numba.types import float32 as N": float32,
}


@pytest.mark.parametrize("text", BOUND)
def test_bound(text):
    """However a name is bound at the top level, the last binding counts."""
    found = value(taken(f"{IMPORTS}{text}\n{KERNEL}{CHECK}"))
    assert repr(found) == repr(BOUND[text])


NOT_BOUND = {
    "for N in range(3):\n    pass": "loop",
    "while True:\n    N = 3": "loop",
    "if cuda.is_available():\n    N = 3\nelse:\n    N = 4": "condition",
    "if cuda:\n    N = 3": "condition",
    "with open('x') as N:\n    pass": "with",
    "try:\n    N = 3\nexcept ValueError:\n    N = 4": "except",
    "class N:\n    pass": "class",
    "N = 3\ndef f():\n    global N\n    N = 4": "function f",
    "import os as N": "os",
    "from random import randint as N": "random.randint",
    "from elsewhere import *": "elsewhere",
    "N = (1, 2)\nN[0] = 3": "store",
    "N = np.float32\nN.x = 3": "store",
    "N, M = f()": "f",
    "match 3:\n    case N:\n        pass": "not run",
    "import smemnb as N": "smemnb",
}


@pytest.mark.parametrize("text", NOT_BOUND)
def test_not_bound(text):
    """What the text alone does not say is told with its line, and only if a kernel needs it."""
    one = taken(f"{IMPORTS}{text}\n{KERNEL}{CHECK}")
    assert isinstance(one, NotTaken) and NOT_BOUND[text] in one.why
    harmless = KERNEL.replace("N *", "2 *")
    assert isinstance(taken(f"{IMPORTS}{text}\n{harmless}{CHECK}"), Program)


def test_as_python_looks_globals_up():
    """A constant or device function that changes between `def` and check counts as it is then."""
    device = "@cuda.jit(device=True)\ndef f(x):\n    return {}\n"
    kernel = KERNEL.replace("N *", "f(N) *")
    text = f"{IMPORTS}N = 1\n{device.format(1)}{kernel}N = 2\n{device.format(2)}{CHECK}"
    one = taken(f"{text}N = 3\n{device.format(3)}")
    assert value(one) == 2
    assert "return 2" in one.functions[value(one, "f")].source


def test_aliases_keep_what_they_were():
    """A name given to a function or a constant keeps it when the first name is bound again."""
    device = "@cuda.jit(device=True)\ndef f(x):\n    return {}\n"
    kernel = KERNEL.replace("N *", "g(N) *")
    text = f"{IMPORTS}M = 1\nN = M\nM = 2\n{device.format(1)}g = f\n{device.format(2)}{kernel}"
    one = taken(text + "mine = scale\nscale = 3\ncheck('ex00_scale', mine)\n")
    assert (one.kernel.name, value(one)) == ("scale", 1)
    assert "return 1" in one.functions[value(one, "g")].source


def test_defined_again_after_its_check():
    """A kernel that is written anew below its check counts as it stands then."""
    changed = KERNEL.replace("N *", "3 * N *")
    one = taken([IMPORTS, "N = 1", KERNEL, CHECK, "N = 2", changed, "N = 3"])
    assert ("3 * N" in one.kernel.source, value(one)) == (True, 2)


@pytest.mark.parametrize(
    "call",
    [
        "forecast('ex00_scale', mine)",
        "forecast('ex00_scale', mine, {'load inp[i]': (32, 128), 'out[i]': None})",
        "smemnb.forecast(name='ex00_scale', kernel=mine, figures=dict(a=[1, None]))",
        "once = forecast('ex00_scale', mine, figures)\nprint(once.lines)",
    ],
)
def test_found_by_its_forecast(call):
    """A cell with a forecast names its kernel as a check does, whatever its figures are."""
    figures = "figures = {'load inp[i]': (32, None), 'store out[i]': {'sectors': 128}}\n"
    one = taken([IMPORTS, "N = 1", KERNEL.replace("scale", "mine"), figures + call, "N = 2"])
    assert (one.kernel.name, value(one)) == ("mine", 1)


@pytest.mark.parametrize(
    ("decorator", "kind", "options"),
    [
        ("@cuda.jit", "kernel", {}),
        ("@cuda.jit()", "kernel", {}),
        ("@numba.cuda.jit(fastmath=True)", "kernel", {"fastmath": True}),
        ("@cuda.jit(device=True)", "device", {}),
        ("@cuda.jit(None, True)", "device", {}),
        ("@cuda.jit(device=False, debug=True, opt=False)", "kernel", {"debug": True, "opt": False}),
        ("@cuda.jit(max_registers=32 * 2)", "kernel", {"max_registers": 64}),
        ("@cuda.jit(launch_bounds=(256, 2))", "kernel", {"launch_bounds": (256, 2)}),
        ("@cuda.jit(inline='always', device=True)", "device", {"inline": "always"}),
        ("@cuda.jit(cache=True, lto=True, link=[], extensions=())", "kernel", {}),
        (
            "@cuda.jit('void(float32[:], f4[:])')",
            "kernel",
            {"signature": ("void(float32[:], float32[:])",)},
        ),
        (
            "@cuda.jit((float32[:], numba.float32[::1]))",
            "kernel",
            {"signature": ("(float32[:], float32[::1])",)},
        ),
        (
            "@cuda.jit(['void(i4)', numba.void(int32[:, :])])",
            "kernel",
            {"signatures": ("void(int32)", "void(int32[:,:])")},
        ),
        ("@numba.njit", "cpu", {}),
        ("@numba.jit(nopython=True)", "cpu", {}),
        ("", "plain", {}),
    ],
)
def test_decorators(decorator, kind, options):
    """What a decorator makes of a function, and its options as plain data."""
    body = "def scale(out, inp):\n    pass\n"
    one = taken(f"{IMPORTS}{decorator}\n{body}check('ex00_scale', scale)")
    found = {name: live(each, ()) for name, each in one.kernel.options.items()}
    assert (one.kernel.kind, found) == (kind, options)


@pytest.mark.parametrize(
    ("decorator", "word"),
    [
        ("@cuda.jit(extensions=[Host()])", "extensions"),
        ("@cuda.jit(link=['x.cu'])", "link"),
        ("@cuda.jit(link=FILES)", "link"),
        ("@cuda.jit(**options)", "dictionary"),
        ("@cuda.jit(devcie=True)", "devcie"),
        ("@cuda.jit(fastmath=fast())", "fast"),
        ("@cuda.jit(\"__import__('os').system('x')\")", "signature"),
        ("@cuda.jit('void(float32[:][c for c in ()])')", "signature"),
        ("@my_decorator", "my_decorator"),
        ("@make(3)", "make"),
        ("@cuda.jit\n@cuda.jit", "decorators"),
        ("@numba.vectorize", "numba.vectorize"),
        ("@(lambda f: f)", "lambda"),
        ("@cuda.reduce", "numba.cuda.reduce"),
    ],
)
def test_not_decorated_so(decorator, word):
    """Decorators and options that no kernel is rebuilt with are named."""
    text = f"{IMPORTS}{decorator}\ndef scale(out, inp):\n    pass\n{CHECK}"
    one = taken(text)
    assert isinstance(one, NotTaken) and word in one.why


@pytest.mark.parametrize(
    "made",
    [
        "scale = cuda.jit(f)\n",
        "scale = cuda.jit(fastmath=True)(f)\n",
        "jit = cuda.jit\nscale = jit(f)\n",
        "from numba.cuda import jit\nscale = jit()(f)\n",
        "scale = other = cuda.jit(f)\n",
    ],
)
def test_jitted_by_a_call(made):
    """`cuda.jit` need not be a decorator."""
    one = taken(f"{IMPORTS}def f(out, inp):\n    pass\n{made}{CHECK}")
    assert (one.kernel.kind, one.kernel.name) == ("kernel", "f")
    direct = taken(f"{IMPORTS}def f(out, inp):\n    pass\ncheck('ex00_scale', cuda.jit(f))")
    assert (direct.kernel.kind, direct.kernel.name) == ("kernel", "f")


@pytest.mark.parametrize(
    ("checked", "reason", "word"),
    [
        ("make(3)", "source", "make"),
        ("kernels[0]", "source", "kernels"),
        ("nowhere", "source", "nowhere"),
        ("scale[1, 32]", "source", "[grid, block]"),
        ("None", "kernel", "NoneType"),
        ("3", "kernel", "int"),
        ("np.float32", "kernel", "numpy.float32"),
        ("transpose_naive", "kernel", "smemnb.kernels.transpose.transpose_naive"),
        ("fetch", "kernel", "fetch"),
        ("lambda out, inp: 3", "source", "lambda"),
        ("smemnb.solution('ex00_scale')", "source", "smemnb.solution"),
    ],
)
def test_no_kernel_of_ones_own(checked, reason, word):
    """Factories, values and kernels of others: told with the line of the check."""
    text = f"{IMPORTS}import smemnb\nfrom smemnb.kernels.transpose import transpose_naive\n"
    text += "from smemnb.exercises.chapters.ex07_ahead import fetch\n"
    one = taken(
        f"{text}N = 3\n{KERNEL}def make(n):\n    return scale\ncheck('ex00_scale', {checked})"
    )
    assert (one.reason, one.place) == (reason, "zz.py, line 15") and word in one.why


def test_workbook_functions():
    """Device functions that a chapter imports from the workbook come by name."""
    text = "from smemnb.exercises.chapters.ex07_ahead import fetch\n"
    text += "from smemnb.kernels.ptx import load16\n"
    kernel = "@cuda.jit\ndef scale(out, inp):\n    fetch(out, inp, load16(inp, 0)[0])\n"
    one = taken(IMPORTS + text + kernel + CHECK)
    assert {key: each.data for key, each in one.kernel.names.items()} == {
        "fetch": "smemnb.exercises.chapters.ex07_ahead.fetch",
        "load16": "smemnb.kernels.ptx.load16",
    }


def test_files_of_a_submission():
    """A kernel may import from its submission's own files, whose names stay theirs."""
    tools = "from numba import cuda\nM = 5\n@cuda.jit(device=True)\ndef f(x):\n    return M * x\n"
    kernel = KERNEL.replace("N *", "f(N) *")
    text = f"{IMPORTS}from tools.small import f, M as N\nM = 7\n{kernel}{CHECK}"
    one = taken(text, tools__small=tools)
    device = one.functions[value(one, "f")]
    assert (value(one), device.file, live(device.names["M"], ())) == (5, "tools/small.py", 5)
    round_trip = taken("from zz import N\n" + text, tools__small="from zz import f\n" + tools)
    assert isinstance(round_trip, NotTaken | Program)


def test_defaults():
    """Default values of parameters are data, worked out where the `def` stands."""
    text = (
        f"{IMPORTS}M = 3\n@cuda.jit(device=True)\ndef f(x, y=M, z=(1, 2)):\n    return x\nM = 4\n"
    )
    one = taken(text + KERNEL.replace("N *", "f(2) *") + CHECK)
    assert [live(each, ()) for each in one.functions[value(one, "f")].defaults] == [3, (1, 2)]
    bad = taken(text.replace("y=M", "y=open('x')") + KERNEL.replace("N *", "f(2) *") + CHECK)
    assert isinstance(bad, NotTaken) and "open" in bad.why


def test_lines():
    """The first line of a kernel is that of its decorator, in the file or the cell."""
    one = taken([IMPORTS, f"%time\n\nN = 3\n\n{KERNEL}", CHECK])
    assert (one.kernel.file, one.kernel.first_line) == ("zz.ipynb cell 3", 5)
    assert one.kernel.source == KERNEL


@pytest.mark.parametrize("name", ["k\n\x1b[2J.py", "k\udc80.py", "k\r.ipynb"])
def test_names_of_files(name):
    """A file's name does not move the cursor of whoever reads the reason, nor begin a line."""
    text = f"{IMPORTS}N = f()\n{KERNEL}{CHECK}"
    good = text.replace("f()", "3")
    for one in (text, good, good + "x = ("):
        data = notebook([one]) if name.endswith("ipynb") else one
        found = take({name: data.encode()}, KNOWN)
        for answer in found.answers.get("ex00_scale", []):
            place = answer.place if isinstance(answer, NotTaken) else answer.kernel.file
            assert place.isprintable() and str(answer).isprintable()
        assert all(problem.isprintable() for problem in found.problems)


def test_last_file_first():
    """The answers of several files come in the order in which they count."""
    files = {
        f"{name}.py": f"{IMPORTS}N = {n}\n{KERNEL}{CHECK}".encode() for n, name in enumerate("ab")
    }
    found = take(files, KNOWN).answers["ex00_scale"]
    assert [(one.kernel.file, value(one)) for one in found] == [("b.py", 1), ("a.py", 0)]


FILES = {
    "nul": b"x = 1\x00\n",
    "deep brackets": b"x = " + b"(" * 100_000,
    "deep calls": b"x = " + b"f(" * 3000 + b")" * 3000,
    "deep minus": b"x = " + b"-" * 100_000 + b"1",
    "deep attributes": b"x = a" + b".b" * 100_000,
    "long sum": b"x = 1" + b" + 1" * 100_000,
    "deep indentation": b"".join(b" " * n + b"if 1:\n" for n in range(200)),
    "huge integer": b"x = " + b"9" * 100_000,
    "huge hexadecimal": b"x = 0x" + b"f" * 1_100_000,
    "one line of 10 MB": b"x = '" + b"a" * 10_000_000 + b"'",
    "utf-16": "x = 1".encode("utf-16"),
    "latin-1 without a coding line": "# é\nx = 1".encode("latin-1"),
    "unknown coding": b"# -*- coding: martian -*-\nx = 1",
    "rot13": b"# -*- coding: rot13 -*-\nk = 1",
    "unicode_escape": b"# -*- coding: unicode_escape -*-\nk = 1",
    "many names": b"".join(b"x%d = 1\n" % n for n in range(25_000)),
    "unclosed": b"x = (1\n",
    "tabs": b"if 1:\n\tx = 1\n        y = 2\n",
}


@pytest.mark.parametrize("name", FILES)
def test_hard_to_read(name):
    """A file that Python cannot read, or not in a bounded time, ends in a reason."""
    found = take({"k.py": FILES[name] + b"\n" + CHECK.encode()}, KNOWN)
    assert found.problems and all(
        one.startswith("k.py") and len(one) < 400 for one in found.problems
    )


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[1]", b"[" * 100_000, b"\xff\xfe", b"9" * 100_000, b'{"cells": 3}'),
        *(b'{"cells": [3]}', b'{"cells": [{"cell_type": "code", "source": 3}]}', b"null"),
        json.dumps({"cells": [{"cell_type": "code", "source": "x"}] * 3000}).encode(),
    ],
    ids=range(11),
)
def test_no_notebook(data):
    """A notebook that is none is said to be none."""
    (problem,) = take({"k.ipynb": data}, KNOWN).problems
    assert "k.ipynb" in problem


def test_readable_all_the_same():
    """A byte-order mark, a coding line with its encoding, Windows' line ends, IPython's lines."""
    text = f"{IMPORTS}N = 3  # é\n{KERNEL}{CHECK}"
    for data in (
        b"\xef\xbb\xbf" + text.encode(),
        b"# -*- coding: latin-1 -*-\n" + text.encode("latin-1"),
        b"# vim: set fileencoding=cp1252 :\n" + text.encode("cp1252"),
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
    ):
        (one,) = take({"k.py": data}, KNOWN).answers["ex00_scale"]
        assert (value(one), one.kernel.source) == (3, KERNEL)
    cells = ["%matplotlib inline\n!pip list\nfiles = !ls\nN = 7 \\\n  % 4\nlen?", "%%bash\nrm x"]
    assert value(taken([IMPORTS, *cells, f"%%time\n{KERNEL}", CHECK])) == 3


def test_long_number_in_a_kernel():
    """A number that Python would not write in decimal is refused with its line, in its kernel."""
    text = "from numba import cuda\n\n@cuda.jit\ndef scale(out, inp):\n    x = 0x" + "f" * 5000
    found = take({"k.py": f"{text}\n{CHECK}".encode()}, KNOWN)
    (answer,) = found.answers["ex00_scale"]
    outcome = judge("ex00_scale", answer)
    assert (outcome.grade, outcome.reason) == ("wrong", "kernel")
    assert "line 5" in outcome.text and "bits" in outcome.text


def test_unreadable_cell():
    """The exercise of a cell that cannot be read has the reason, the others are taken."""
    cells = [IMPORTS, "N = 3", KERNEL, CHECK, "x = 1\ncheck('ex00_bias', k\n"]
    found = take({"zz.ipynb": notebook(cells).encode()}, KNOWN)
    assert isinstance(found.answers["ex00_scale"][0], Program)
    (bias,) = found.answers["ex00_bias"]
    assert isinstance(bias, NotTaken) and facts(bias.why) >= facts("zz.ipynb cell 6 line 2")


def test_many_magics_end():
    """A cell of nothing but lines for IPython is given up after a while."""
    found = take({"k.ipynb": notebook(["!ls\n" * 20_000]).encode()}, KNOWN)
    assert len(found.problems) == 1


BOMBS = {
    "a chain of names that are not known": "a0 = f()\n"
    + "".join(f"a{n + 1} = a{n} + 1\n" for n in range(3000))
    + "a = a3000\n",
    "a tuple in a tuple in a tuple": "a = (1,)\n" + "a = (a,)\n" * 2000,
    "a tuple of tuples of tuples": "a = (1,) * 4000\n" + "a = (a,) * 4000\n" * 5,
    "a number that is squared": "a = 3\n" + "a = a * a\n" * 100,
    "functions that call each other": "".join(
        f"@cuda.jit(device=True)\ndef f{n}(x):\n    return f{n + 1}(x)\n" for n in range(3000)
    )
    + "a = f0\n",
    "a long name": f"{'x' * 100_000} = f()\na = {'x' * 100_000}\n",
    "a kernel of one name many times": "a = 1\n" + KERNEL * 500,
    "branches in branches": "".join(f"{' ' * n}if True:\n" for n in range(90))
    + " " * 90
    + "a = f()\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bounded(name):
    """Whatever the text piles up, an answer comes, with a reason of a few lines."""
    kernel = KERNEL.replace("N *", "a *")
    one = taken(IMPORTS + BOMBS[name] + kernel + CHECK)
    assert isinstance(one, Program) is (name == "a kernel of one name many times")
    assert len(str(one)) < 1000 or isinstance(one, Program)
