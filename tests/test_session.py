"""What smemnb makes of an IPython session: cells that failed, and refusals without our frames.

Cells run in a shell of a process of its own, as a notebook runs them.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.session import defined_names, users_frames

RUN = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
said = []
for cell in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        shell.run_cell(cell, store_history=True)
    said.append(out.getvalue())
print(json.dumps(said))
"""

IMPORTS = """
from numba import cuda
import numpy as np
from smemnb import check, trace, transpose
cells = np.arange(100, dtype=np.float32)
"""

SCALE = """
@cuda.jit
def scale(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[i] * 2
"""

CHECK = 'print(check("ex00_scale", scale))'


def run(*cells, **environment):
    """What each cell shows, after a first cell of imports."""
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(
        command,
        input=json.dumps([IMPORTS, *cells]),
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=True,
    )
    first, *rest = json.loads(done.stdout.splitlines()[-1])
    assert first == ""
    return rest


BROKEN = {
    "not closed": SCALE.replace("cuda.grid(1)", "cuda.grid(1"),
    "misspelt def": SCALE.replace("def scale", "de scale"),
    "nothing behind =": SCALE.replace("inp[i] * 2", ""),
    "no colon": SCALE.replace("(out, inp):", "(out, inp)"),
    "indented": SCALE.replace("@", " @"),
    "unknown decorator": SCALE.replace("cuda.jit", "cuda.jti"),
    "raised before it": "nothing_of_this_name\n" + SCALE,
    "refused signature": SCALE.replace("cuda.jit", 'cuda.jit("void(float32[:], nothing[:])")'),
    "below a magic": "%%time" + SCALE.replace("cuda.grid(1)", "cuda.grid(1"),
}


@pytest.fixture(scope="module")
def after_broken(tmp_path_factory):
    """A kernel that is right, then each broken cell with a check, then what progress knows."""
    home = str(tmp_path_factory.mktemp("home"))
    first = ["old = scale", 'print(bool(check("ex00_scale", scale)))']
    pairs = [one for broken in BROKEN.values() for one in (broken, CHECK)]
    count = "import json, os, pathlib\n" + (
        'print((pathlib.Path(os.environ["SMEMNB_HOME"]) / "progress.json").read_text())'
    )
    last = [CHECK.replace("scale)", "old)"), SCALE, CHECK]
    said = run(SCALE, *first, *pairs, count, *last, SMEMNB_HOME=home, SMEMNB_PROGRESS="on")
    assert said[:3] == ["", "", "True\n"]
    middle = 3 + len(pairs)
    return dict(zip(BROKEN, said[4:middle:2], strict=True)), said[middle:]


@pytest.mark.first(3)
@pytest.mark.parametrize("broken", BROKEN)
def test_cell_that_failed(after_broken, broken):
    """The kernel of an earlier run is not graded: the verdict shows why its cell did not run."""
    verdict = after_broken[0][broken]
    assert verdict.startswith("ex00_scale: not yet\n")
    assert "scale did not run" in verdict
    assert re.search(r"^ +(\w*Error): .+$", verdict, re.MULTILINE)
    assert re.search(r"^ +\d+ \| \S+", verdict, re.MULTILINE)
    assert "output" not in verdict


def test_nothing_is_recorded(after_broken):
    """A check that grades nothing counts nothing: the one that was right is all."""
    counts = json.loads(after_broken[1][0])["exercises"]
    assert counts == {"ex00_scale": {"checks": 1, "done": True, "hints": 0}}


def test_mended_cell(after_broken):
    """The earlier kernel under another name is still an earlier one; a cell that runs mends it."""
    old, again, mended = after_broken[1][1:]
    assert "scale did not run" in old
    assert (again, mended.split("\n")[0]) == ("", "ex00_scale: done")


@pytest.mark.slow
def test_in_a_kernel_of_jupyter():
    """The same in a notebook, whose kernel runs cells by another way than a shell."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [IMPORTS, SCALE, CHECK, BROKEN["not closed"], CHECK, SCALE, CHECK]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, kernel_name="python3", allow_errors=True, timeout=120).execute()
    said = ["".join(out.get("text", "") for out in cell.outputs) for cell in book.cells]
    assert [text.split("\n")[0] for text in said[2::2]] == [
        "ex00_scale: done",
        "ex00_scale: not yet",
        "ex00_scale: done",
    ]
    assert "scale did not run" in said[4]


@pytest.mark.exhaustive
def test_cell_that_failed_later():
    """What a cell defined before it raised is graded; so is a kernel that other cells define."""
    said = run(
        SCALE + "nothing_of_this_name",
        CHECK,
        "def other(out:",
        CHECK,
        "trace(scale)[1, 32](cells, cells",  # speaks of the kernel and defines nothing
        CHECK,
        "def make():\n    def scale(out, inp):\n        pass\n    return 1 +",
        CHECK,
    )
    assert [line.split("\n")[0] for line in said[1::2]] == ["ex00_scale: done"] * 4


@pytest.mark.exhaustive
def test_function_that_it_calls():
    """A kernel whose device function was to be defined anew is not graded either."""
    device = "@cuda.jit(device=True)\ndef twice(x):\n    return x + x"
    calls = SCALE.replace("inp[i] * 2", "twice(inp[i])")
    *_, done, _, refused = run(device, calls, CHECK, device.replace("x + x", "(x + x"), CHECK)
    assert done.startswith("ex00_scale: done")
    assert refused.startswith("ex00_scale: not yet") and "twice did not run" in refused


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        ("x = 3", set()),
        ("async def one(): pass\nclass A:\n    def method(self): pass", {"one"}),
        (
            "try:\n    def one(): pass\nexcept E:\n    def two(): pass\nfinally: pass",
            {"one", "two"},
        ),
        ("def one(:\n    def inner(): pass\ndef two(): pass", {"one", "two"}),
        ("  def one(): pass\ndef two(:", {"two"}),
        ("@cuda.jit(\ndef one(out", {"one"}),
        ("\0def one(): pass", set()),
    ],
)
def test_defined_names(text, names):
    """Functions at the top of a cell, also in a text that cannot be parsed."""
    assert defined_names(text) == names


REFUSED = [
    "trace(scale)[4, 2048](cells, cells)",
    "scale[4, 2048](cells, cells)",
    "scale(cells)",
    "scale.forall(-1)",
    "trace(3)",
    "transpose(3)",
    'cuda.jit("void(float32[:], float32[:])")(scale.py_func)[0, 1](cells, cells)',
]
OURS = re.compile(r"^ *File .*(site-packages|smemnb[/\\])", re.MULTILINE)
MODES = ("Plain", "Context", "Verbose", "Docs", "Minimal")


@pytest.fixture(scope="module")
def refusals():
    """Each refusal in each mode of IPython, below a function of the user's."""
    cells = [f"def mine():\n    return {text}\nmine()" for text in REFUSED]
    said = run(SCALE, *[cell for mode in MODES for cell in (f"%xmode {mode}", *cells)])[1:]
    step = 1 + len(cells)
    return {mode: said[i * step + 1 : (i + 1) * step] for i, mode in enumerate(MODES)}


@pytest.mark.first(2)
@pytest.mark.parametrize("mode", MODES)
def test_refusal_shows_the_users_frames(refusals, mode):
    """No line of a file of this package or of Numba, in any mode; both frames of the user's."""
    for text, said in zip(REFUSED, refusals[mode], strict=True):
        assert "Refused" in said, (text, said)
        assert not OURS.search(said), said
        if mode != "Minimal":
            assert "mine()" in said
        if mode in ("Plain", "Context", "Verbose"):
            assert text in said


CHAINED = """
try:
    transpose(3)
except Exception as error:
    raise RuntimeError("mine") from error
"""


@pytest.mark.exhaustive
def test_cause_shows_the_users_frames():
    """A refusal that another error came from, or that came while one was handled, likewise."""
    for said in run(CHAINED, CHAINED.replace(" from error", ""), "%xmode Verbose", CHAINED)[::3]:
        assert "RuntimeError: mine" in said and "TypeRefused" in said
        assert not OURS.search(said), said


@pytest.mark.exhaustive
def test_whole_tracebacks():
    """SMEMNB_TRACEBACK=full shows every frame."""
    (said,) = run("transpose(3)", SMEMNB_TRACEBACK="full")
    assert "transposing.py" in said


@pytest.mark.parametrize("code", ["transpose(3)", CHAINED])
def test_plain_python(tmp_path, code):
    """A script: its own lines, then the refusal; nothing of a cell."""
    script = tmp_path / "mine.py"
    script.write_text(f"from smemnb import transpose\n{code}\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    said = done.stderr
    assert done.returncode == 1 and "TypeRefused: `x` is an int" in said
    files = re.findall(r'File "([^"]+)"', said)
    assert files == [str(script)] * len(files) and len(files) == 1 + (code is CHAINED)


def test_other_errors_are_left_alone(tmp_path):
    """An error that is none of ours is printed by the hook that was there before."""
    script = tmp_path / "mine.py"
    script.write_text(
        "import sys\nsys.excepthook = lambda *args: print('own hook', args[0].__name__)\n"
        "import smemnb\n1 / 0\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("own hook ZeroDivisionError\n", "")


def test_said_once():
    """A refusal that the verdict has told is not told again in the same cell, only in the next."""
    kernel = SCALE.replace("inp[i]", "inp[i].foo")
    launch = "trace(scale)[4, 128](cells.copy(), cells)"
    other = "trace(scale)[4, 2048](cells.copy(), cells)"
    both, alone, another = run(kernel, f"{CHECK}\n{launch}", launch, f"{CHECK}\n{other}")[1:]
    assert both.count("has no `.foo`") == alone.count("has no `.foo`") == 1
    assert "TypingRefused" in both and launch in both
    assert "has no `.foo`" in another and "2048 threads" in another


@pytest.mark.exhaustive
def test_error_keeps_its_text():
    """Shown short or not, an error that is caught is whole."""
    kernel = SCALE.replace("inp[i]", "inp[i].foo")
    launch = "trace(scale)[4, 128](cells.copy(), cells)"
    caught = f"{CHECK}\ntry:\n    {launch}\nexcept TypeError as error:\n    print(str(error))"
    assert run(kernel, caught)[1].count("has no `.foo`") == 2


def test_frames_of_nobody():
    """Where no frame is the user's, all of them stay; other attributes of an error do too."""
    with pytest.raises(LaunchRefused) as caught:
        raise LaunchRefused("no")
    assert users_frames(caught.tb).tb_frame is caught.tb.tb_frame
    error = SmemnbError("no")
    assert error.__traceback__ is None
    error.__traceback__ = caught.tb
    assert error.__traceback__.tb_lineno == caught.tb.tb_lineno


def test_nothing_to_see_in_plain_python():
    """Without IPython no cell is kept, and IPython is not imported."""
    code = "import sys, smemnb; from smemnb import session; print(session.shell(), session._cells)"
    code += "; print('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("None None\nFalse\n", "")
