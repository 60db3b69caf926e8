"""Cures of races are right: a kernel that obeys all of them has no finding any more."""

import ast
import importlib.util
import itertools
import re

import numpy as np
import pytest

from smemnb import trace
from tests.tiers import exhaustive

HEAD = """from numba import cuda, float32, int32


@cuda.jit
def kernel(out, inp):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = inp[t]
    BARRIER
"""

BODIES = {
    "tree": """
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            s[t] = max(s[t], s[t + step])
        step //= 2
    out[t] = inp[t]
""",
    "tree_of_two_lines": """
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            v = max(s[t], s[t + step])
            s[t] = v
        step //= 2
    out[t] = inp[t]
""",
    "tree_in_a_for": """
    for k in range(5):
        step = 16 >> k
        if t < step:
            s[t] = s[t] + s[t + step]
    out[t] = inp[t]
""",
    "tree_with_an_else": """
    step = cuda.blockDim.x // 2
    while step > 0:
        if t >= step:
            v = float32(0)
        else:
            s[t] = max(s[t], s[t + step])
        step //= 2
    out[t] = inp[t]
""",
    "one_pass": """
    s[t] = s[(t + 1) % cuda.blockDim.x]
    out[t] = inp[t]
""",
    "one_pass_in_a_branch": """
    if t + 1 < cuda.blockDim.x:
        s[t] = s[t + 1]
    out[t] = inp[t]
""",
    "scan": """
    step = 1
    while step < cuda.blockDim.x:
        if t >= step:
            s[t] = s[t] + s[t - step]
        step *= 2
    out[t] = s[t]
""",
    "turns_both_ways": """
    for k in range(3):
        s[t] = s[(t + 1) % cuda.blockDim.x]
    out[t] = s[t]
""",
    "nested": """
    for a in range(2):
        for k in range(5):
            step = 16 >> k
            if t < step:
                s[t] = s[t] + s[t + step]
    out[t] = inp[t]
""",
    "two_on_one_line": """
    for k in range(3):
        v = s[(t + 1) % cuda.blockDim.x]; s[t] = v
    out[t] = s[t]
""",
    "store_then_load": """
    v = float32(0)
    for k in range(3):
        s[t] = inp[t] + k
        v += s[(t + 1) % cuda.blockDim.x]
    out[t] = v
""",
    "load_then_store": """
    v = float32(0)
    for k in range(3):
        v += s[(t + 1) % cuda.blockDim.x]
        s[t] = inp[t] + k
    out[t] = v
""",
    "load_in_a_loop_of_its_own": """
    v = float32(0)
    for k in range(2):
        s[t] = inp[t] + k
        for i in range(3):
            v += s[(t + i) % cuda.blockDim.x]
    out[t] = v
""",
}
FIRST = {"tree", "scan"}  # the others are for the second tier
BETWEEN = re.compile(
    r"Put (cuda\.\w+\(\)) between line (\d+) and line (\d+)(?:, outside of the \w+ of line (\d+))?"
)
AT_THE_END = re.compile(
    r"Put (?:(cuda\.\w+\(\))|another one) after line (\d+), at the end of the loop body"
    r"[^:,]*[:,].*?comes back to line (\d+)"
)
FIRST_LOAD = re.compile(
    r"Load into a variable first, then (cuda\.\w+\(\))(?: outside of the \w+ of line (\d+))?, then"
)


def source(name, barrier):
    return HEAD.replace("BARRIER", barrier) + BODIES[name].lstrip("\n")


def findings(text, path, number, block, order=None):
    file = path / f"cured_{number}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    inp = np.arange(block, dtype=np.float32)
    said = trace(module.kernel, order=order)[1, block](np.zeros_like(inp), inp).findings
    return [one for one in said if not one.price]


def indent(line):
    return " " * (len(line) - len(line.lstrip()))


def loops_around(text, *lines):
    """Loops around lines, from outside in."""
    return sorted(
        (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.For | ast.While)
            and all(node.lineno <= line <= node.end_lineno for line in lines)
        ),
        key=lambda node: node.lineno,
    )


def obeyed(text, cures):
    """The source after all cures, to the letter."""
    lines = text.splitlines()
    before, after, instead = {}, {}, {}
    for cure, line in cures:
        barrier = re.search(r"cuda\.sync\w+\(\)", cure)[0]
        for _, first, then, branch in BETWEEN.findall(cure):
            at = int(then)
            inner = [n for n in loops_around(text, at) if not n.lineno <= int(first) <= at]
            at = inner[0].lineno if inner else at
            before[at] = parted(lines, at, barrier, int(branch or 0))
        for _, last, back in AT_THE_END.findall(cure):
            loop = loops_around(text, int(last), int(back))[-1]
            after[int(last)] = [indent(lines[loop.body[0].lineno - 1]) + barrier]
        for _, branch in FIRST_LOAD.findall(cure):
            whole = lines[line - 1]
            if ";" in whole:
                load, store = whole.split("; ")
                store = indent(whole) + store
            else:
                target, value = whole.strip().split(" = ", 1)
                load = f"{indent(whole)}first = {value}"
                store = f"{indent(whole)}{target} = first"
            instead[line] = [load, *parted(lines, line, barrier, int(branch or 0)), store]
    assert before or after or instead
    result = []
    for number, line in enumerate(lines, 1):
        result += before.get(number, [])
        result += instead.get(number, [line])
        result += after.get(number, [])
    return "\n".join(result) + "\n"


def parted(lines, at, barrier, branch):
    """The barrier before a line; outside of a branch, which goes on behind it."""
    if not branch:
        return [indent(lines[at - 1]) + barrier]
    return [indent(lines[branch - 1]) + barrier, lines[branch - 1]]


LAUNCHES = {"cuda.syncwarp()": 32, "cuda.syncthreads()": 256}


@pytest.mark.parametrize(
    ("name", "barrier"),
    [
        pytest.param(
            name, barrier, id=f"{name}-{barrier[5:-2]}", marks=() if name in FIRST else exhaustive
        )
        for name, barrier in itertools.product(BODIES, LAUNCHES)
    ],
)
def test_obeyed(name, barrier, tmp_path):
    """One round of cures, all of them at once, and nothing is left."""
    text, block = source(name, barrier), LAUNCHES[barrier]
    found = findings(text, tmp_path, 0, block)
    if name in {"tree_in_a_for", "nested"} and block > 32:  # its step is one warp's
        barrier, block = "cuda.syncwarp()", 256
    assert found and all(barrier in one.cure for one in found)
    cured = obeyed(text, [(one.cure, one.line) for one in found])
    left = findings(cured, tmp_path, 1, block)
    assert not left, (cured, left)


@pytest.mark.parametrize("inside", ["", "            cuda.syncwarp()\n"])
def test_a_later_pass(inside, tmp_path):
    """The store of one pass comes before the load of the next, in words too.

    With a syncwarp of some lanes, times of single lanes are compared.
    """
    text = source("tree_of_two_lines", "cuda.syncwarp()")
    text = text.replace("            s[t] = v\n", f"{inside}            s[t] = v\n")
    (found,) = [one for one in findings(text, tmp_path, 0, 32) if one.race]
    load, store, last = 13, 14 + bool(inside), 15 + bool(inside)
    assert (found.line, found.other_line) == (store, load)
    assert re.search(
        rf"Line {store} stores s\[t\] \(.*\) and, in a later pass of the loop, "
        rf"line {load} loads s\[t \+ step\]",
        found.cause,
    )
    assert found.cure.startswith(
        f"Put cuda.syncwarp() after line {last}, at the end of the loop body and outside of the "
        "if of line 12: "
    )


@pytest.mark.parametrize("order", ["reversed", "random"])
def test_warps_take_turns(order, tmp_path):
    """The cure is the same in whatever order warps run."""
    for name in FIRST:
        text = source(name, "cuda.syncthreads()")
        cures = [
            {one.cure for one in findings(text, tmp_path, number, 256, how)}
            for number, how in enumerate((None, order))
        ]
        assert cures[0] == cures[1]
