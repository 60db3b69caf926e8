"""The hint of a verdict: what most likely is wrong, read from the counts of the failing run.

Budgets fail for few reasons, and the trace tells them apart: lanes per request (one lane works
while its warp waits), touches per element (what is stored or loaded again and again), and the
worst request of a line (which two lanes meet in which bank).
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from ...errors import MisalignedAddress
from ...tracing.findings import Finding
from ...tracing.findings.signals import LAUNCH_OF_ITS_OWN, TWO_LAUNCHES
from ...tracing.model import AccessRow
from ..exercise import Exercise, Kernel
from ..source import function_of, parameters, source_of
from .observe import Run
from .values import WrongElement
from .who_stored import who_stored

FEW_LANES = 4  # per request: below, a warp's other lanes wait

PLAIN = {
    "unwritten": "No thread reached a store into the output: look at the condition around it.",
    "dynamic": "The kernel makes more than one shared array of 0 elements. Each of them begins at "
    "byte 0 of the dynamic memory, so they overlap. Make one, and take slices of it.",
    "findings": "Change the line that the finding names.",
    "output": "Work out on paper which thread writes the element named above, and from what.",
    "unchanged": "No thread stores that element in this launch: it is as it was before. Which "
    "thread should, and what keeps it from doing so?",
    "one_element": "Keep in a variable what is put together, and store it once.",
    "blocks": "Blocks run in any order, and this launch is the only one: let each block work out "
    "what it needs from the inputs, and store elements of its own.",
    "all_barriers": "The kernel has as many barriers as the budget allows: move one, or let the "
    "two lines use different buffers.",
    "inputs": "Only the outputs may be stored to; keep a changed value in a variable.",
    "wavefronts": "Lanes of one warp meet in one bank on that line.",
    "sectors": "Lanes side by side should touch elements side by side: the last index goes up by "
    "one with threadIdx.x.",
    "requests": "Some value is loaded or stored more often than needed: keep it in a variable.",
    "shared_stores": "Most of these are stores: let each request store as many elements as the "
    "warp has lanes, and no element twice.",
    "shared_requests": "An element of a tile is read more often than needed: read it once into a "
    "variable or a local array, and use it there for every result that needs it.",
    "none_shared": "This exercise takes no shared memory: lanes of a warp hand values on by "
    "shuffles, and one variable per lane holds them.",
    "thin_shared": "Let neighbouring lanes take neighbouring elements, 32 in one request.",
    "shared": "Multiply the number of elements of each shared array by the bytes of an element: "
    "one array is larger than it has to be.",
    "machine": "Only the compiled code shows it: what does the loop compute in every turn that was "
    "the same in the turn before, or is a number in the text?",
    "barriers": "A barrier stands between what threads store into shared memory and what others "
    "load of it, or between such loads and the next store. Which one stands between neither?",
    "barriers_in_a_loop": "With a second buffer, one barrier in each pass of the loop is enough: "
    "put it where the next buffer is full and all threads have read this one.",
    "order": "A warp waits at the first line that needs a value. Load the next elements into "
    "variables before this tile is read, and store them after it was read.",
}


def on_findings(
    exercise: Exercise, kernel: Kernel, first: Finding, *, wrong: bool, runs: Sequence[Run] = ()
) -> str:
    """Give the cure of a finding, and add what the finding cannot know.

    With wrong values a guard may only hide an index; dynamic arrays that begin at one byte race
    where no barrier is missing; an exercise is one launch, mostly of blocks that tell each other
    nothing; and it may allow no barrier more than the kernel has.
    """
    if dynamic_arrays(source_of(kernel) or "") > 1:
        return PLAIN["dynamic"]
    if wrong and first.kind in ("out_of_range", "wrapped_index"):
        return (
            f"{first.cure} If that thread should have an element there, correct the index instead."
        )
    if first.kind == "race_between_blocks" and TWO_LAUNCHES in first.cure:
        if "threadfence" not in (source_of(exercise.solution) or ""):
            return PLAIN["blocks"]
    cure = first.cure.replace(TWO_LAUNCHES, "").replace(LAUNCH_OF_ITS_OWN, "")
    races = first.kind in ("race", "race_in_warp") and "cuda.sync" in cure
    if races and any(map(_has_all_barriers, runs)):
        return f"{cure} {PLAIN['all_barriers']}"
    return cure or PLAIN["findings"]


def _has_all_barriers(run: Run) -> bool:
    """Whether a kernel passes as many barriers as its budget allows."""
    allowed = None if run.case.budget is None else run.case.budget.barriers
    return allowed is not None and run.trace.barriers >= allowed


def on_stop(error: Exception) -> str:
    """Say what to look at where a kernel was stopped; "" where the reason says it all.

    >>> "must be a multiple of 4" in on_stop(MisalignedAddress("", 4))
    True
    >>> on_stop(ValueError())
    ''
    """
    if not isinstance(error, MisalignedAddress):
        return ""
    each = error.elements
    return (
        "The offset of a lane's first element is row * pitch + column. Each lane's first column "
        f"must be a multiple of {each}, and so must the pitch, its pad included: then every row "
        "begins where such a move may."
    )


def on_values(exercise: Exercise, kernel: Kernel, run: Run, element: WrongElement) -> str:
    """Say who stored the first wrong element, and from what, as far as a run shows it."""
    if dynamic_arrays(source_of(kernel) or "") > 1:
        return PLAIN["dynamic"]
    if not element.any_written:
        return swapped(parameters(exercise.solution), run.names) or PLAIN["unwritten"]
    if not element.written:
        return "No thread stores that element: which one should, and what keeps it from doing so?"
    said, sources = who_stored(exercise, kernel, run, element.output, element.index)
    if not said:
        return PLAIN["output" if exercise.start is None else "unchanged"]
    if "by an atomic" in said and exercise.start is None:
        return (
            f"{said} The outputs hold no zeros before the launch, and an atomic adds to what is "
            "there: add up elsewhere, and store what comes out."
        )
    if "by an atomic" in said:
        return (
            f"{said} Does each thread do so once, where it should, and is nothing to be stored "
            "there afterwards?"
        )
    if sources:
        return f"{said} Is that the right thread, and are those the values that it needs?"
    return (
        f"{said} Is that the right thread? If so, look at the elements that its value is computed "
        "from: are they the right ones, all of them, each once? And is what is done to each right?"
    )


def swapped(asked: Sequence[str], names: Sequence[str]) -> str:
    """Say that a kernel has the parameters asked for in another order; "" if it has not.

    >>> swapped(("out", "inp"), ("inp", "out"))
    'Arguments come by position, as (out, inp): this kernel has (inp, out).'
    """
    if sorted(asked) != sorted(names) or list(asked) == list(names):
        return ""
    said = f"Arguments come by position, as ({', '.join(asked)}): this kernel has"
    return f"{said} ({', '.join(names)})."


def dynamic_arrays(source: str) -> int:
    """Count the shared arrays of 0 elements in a source that are not sliced where they are made.

    >>> two = "a = cuda.shared.array(0, float32); b = cuda.shared.array(0, float32)"
    >>> dynamic_arrays(two), dynamic_arrays(two + "[9:]")
    (2, 1)
    """
    nodes = list(ast.walk(ast.parse(textwrap.dedent(source))))
    sliced = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
    return sum(
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("shared.array")
        and [ast.unparse(given) for given in node.args[:1]] in (["0"], ["(0,)"])
        and id(node) not in sliced
        for node in nodes
    )


def on_launches(runs: Sequence[Run], kernel: Kernel = None, *, found: bool = False) -> str:
    """Say how the last run, the first to fail, differs from those before it.

    "" if no run came before it. A block's extent is asked for only where the kernel, if it is
    given, has a number that may stand for one; the launch before is only called right where
    nothing was `found` in any.
    """
    if len(runs) < 2:
        return ""
    *before, failing = (str(b[0] if len(b) == 1 else b) for b in (run.case.block for run in runs))
    extents = {extent for run in runs[:-1] for extent in run.case.block}
    if failing not in before and (kernel is None or _has_number_near(kernel, extents)):
        right = " and ".join(dict.fromkeys(before))
        return (
            f" Launches with blocks of {right} were right, this one has {failing}: does the kernel "
            "have a number in place of blockDim?"
        )
    if runs[-1].case.seed is not None:
        return on_fresh(runs[-1])
    if found:
        return ""
    return f" The launch before was right ({runs[-2].title}): what is different here?"


def _has_number_near(kernel: Kernel, extents: set[int]) -> bool:
    """Whether a kernel has a number that is an extent of a block, or up to 2 more.

    Extents of 1 and 2, shapes of arrays and masks of warps do not count; names of numbers do.
    """
    function = function_of(kernel)
    tree = ast.parse(textwrap.dedent(source_of(kernel) or ""))
    shapes = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".array")
        for inner in ast.walk(node)
    }
    known = {} if function is None else function.__globals__
    numbers = [
        node.value if isinstance(node, ast.Constant) else known.get(node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.Name) and id(node) not in shapes
    ]
    return any(
        type(one) is int and extent <= one <= extent + 2
        for one in numbers
        for extent in extents
        if extent > 2
    )


def on_fresh(run: Run) -> str:
    """Say what a launch is that nobody knows beforehand, and what it asks of a kernel."""
    return (
        f" All published launches were right. This one was drawn from seed {run.case.seed}: does "
        "the kernel hold sizes or values that fit only the published ones?"
    )


def on_barriers(exercise: Exercise) -> str:
    """Say which barrier may go: in a loop, a second buffer spares one of two."""
    tree = ast.parse(textwrap.dedent(source_of(exercise.solution) or ""))
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    if any("syncthreads" in ast.unparse(loop) for loop in loops):
        return PLAIN["barriers_in_a_loop"]
    return PLAIN["barriers"]


def on_shared_requests(run: Run, excess: int) -> str:
    """Say why a run goes to shared memory in so many requests more than allowed."""
    rows = [row for row in run.trace.lines if row.space == "shared"]
    stores = sum(row.requests for row in rows if row.kind == "store")
    thin = _thin(rows)
    if thin and 2 * sum(row.requests for row in thin) >= excess:
        worst = max(thin, key=lambda row: row.requests)
        return f"{_few_lanes(worst)} {PLAIN['thin_shared']}"
    if stores > sum(row.requests for row in rows) - stores:
        return PLAIN["shared_stores"]
    return PLAIN["shared_requests"]


def _thin(rows: Sequence[AccessRow]) -> list[AccessRow]:
    """The lines in whose requests few lanes take part."""
    return [row for row in rows if row.requests > 1 and row.lanes < FEW_LANES * row.requests]


def _few_lanes(row: AccessRow) -> str:
    lanes = round(row.lanes / row.requests)
    few = "one lane uses" if lanes == 1 else f"about {lanes} lanes use"
    return (
        f"In line {row.line}, {few} {row.array} at a time while the other lanes of the warp wait."
    )


def on_requests(exercise: Exercise, run: Run, name: str, allowed: int) -> str:
    """Say why a run touches one parameter in more requests than allowed.

    `name` is the kernel's own name of the parameter.
    """
    rows = [row for row in run.trace.lines if row.space == "global" and row.array == name]
    seen = sum(row.requests for row in rows)
    thin = _thin(rows)
    # a warp's lanes one after another: at least half of what is too much
    if thin and 2 * sum(row.requests for row in thin) >= seen - allowed:
        worst = max(thin, key=lambda row: row.requests)
        waiting = [row for row in rows if row.source.strip().startswith("while")]
        if worst.kind.startswith("atomic"):
            return _many_atomics(*waiting[:1] or [worst])
        if _elements(run, name) == 1:
            return (
                f"Line {worst.line} goes to the one element of {name} {worst.requests} times. "
                f"{PLAIN['one_element']}"
            )
        return (
            f"{_few_lanes(worst)} Let neighbouring lanes touch neighbouring elements, 32 in one "
            "request."
        )
    elements = _elements(run, name)
    stored = sum(row.lanes for row in rows if row.kind == "store")
    if elements and stored > elements:
        if any(row.kind == "load" for row in rows):
            return (
                f"Each element of {name} is stored {_times(stored, elements)} times, and loaded in "
                f"between. {PLAIN['one_element']}"
            )
        return (
            f"Each element of {name} is stored {_times(stored, elements)} times. Give every "
            "thread elements of its own."
        )
    if "shared.array" in (source_of(exercise.solution) or "") and rows:
        if not any(row.space == "shared" for row in run.trace.lines):
            return _unused_tile(run)
        loaded = sum(row.lanes for row in rows)
        if loaded > elements > 0:
            into = "a local array" if _held(exercise, run, name) else "the shared array"
            return (
                f"Each element of {name} is loaded {_times(loaded, elements)} times. Load it once "
                f"into {into}, and read it there from then on."
            )
    return PLAIN["requests"]


def _many_atomics(row: AccessRow) -> str:
    """Of one lane's atomics after another: of blocks that add, or of one that waits."""
    if row.source.strip().startswith("while"):
        return (
            f"Line {row.line} waits in a loop for other blocks. They may not have begun, and "
            "cannot begin while this one takes their place: let the block that comes last do the "
            "work."
        )
    return (
        f"Line {row.line} changes {row.array} in {row.requests} atomics, in whatever order threads "
        "come there. Let one thread that has all parts put them together first, and store what "
        "comes out once."
    )


def _held(exercise: Exercise, run: Run, name: str) -> bool:
    """Whether the solution loads this parameter into a local array, and so into registers."""
    tree = ast.parse(textwrap.dedent(source_of(exercise.solution) or ""))
    asked = parameters(exercise.solution)[run.names.index(name)]
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    local = {
        ast.unparse(node.targets[0]) for node in made if "local.array(" in ast.unparse(node.value)
    }
    return any(
        isinstance(node.targets[0], ast.Subscript)
        and ast.unparse(node.targets[0].value) in local
        and ast.unparse(node.value).startswith(f"{asked}[")
        for node in made
    )


def _times(touches: int, elements: int) -> str:
    """Say how often each element is touched on average: "2", "1.5", "about 512"."""
    mean = touches / elements
    return f"about {round(mean)}" if mean > 9 and touches % elements else f"{round(mean, 1):g}"


def _unused_tile(run: Run) -> str:
    if run.trace.launch.static_shared_bytes:
        return (
            "The shared array is never used. Store into its elements with tile[...] = ...; "
            "`tile = ...` only gives the name to another value."
        )
    return "Load each element once into a shared array, and read it there from then on."


def _elements(run: Run, name: str) -> int:
    arrays = (*run.outputs, *run.inputs)
    given = dict(zip(run.names, arrays, strict=False)).get(name)
    return int(getattr(given, "size", 0))


def on_wavefronts(rows: list[AccessRow]) -> str:
    """Name two lanes that meet in a bank, in the worst request of a line."""
    worst = max(rows, key=lambda row: (row.ways, row.extra))
    pair = meeting(worst)
    if pair is None:
        return PLAIN["wavefronts"]
    (first, word), (then, other) = pair
    if word == other:  # increments by a constant are merged, other atomics are not
        return (
            f"Lanes {first} and {then} of a warp update the same word, {word}: an atomic serves "
            "them one after the other. Let them update different elements."
        )
    return (
        f"Lanes {first} and {then} of a warp need words {word} and {other}, which both lie in bank "
        f"{word % 32}; a bank serves one word at a time. Arrange the elements so that the two "
        "words lie in two banks, or let the two lanes come to them in different rounds."
    )


def meeting(row: AccessRow) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Find two (lane, word) that meet in the fullest bank of a row's worst request."""
    if row.worst is None or row.copy:
        return None
    atomic = row.kind.startswith("atomic") and row.kind != "atomic_increment"
    phase = max(1, 128 // max(row.width, 4))  # lanes that are served together
    banks: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
    for lane, (address, on) in enumerate(zip(row.worst.address, row.worst.active, strict=True)):
        if on:
            word = address // 4
            asked = banks.setdefault((lane // phase, word % 32), {})
            asked.setdefault(lane if atomic else word, (lane, word))
    most = max(banks.values(), key=len, default={})
    if len(most) < 2:
        return None
    first, then = list(most.values())[:2]
    return first, then
