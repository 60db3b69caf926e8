"""Values that are wrong without a finding: who stored them, and what else the verdict tells."""

import re

from numba import cuda, float32, int32

from smemnb.exercises.check import check
from smemnb.exercises.exercise import Budget, Case, Exercise, cover, scattered
from smemnb.exercises.grading.advice import on_findings, on_launches
from smemnb.exercises.grading.observe import observe
from smemnb.exercises.grading.parts import count_parts, lines
from smemnb.exercises.grading.values import wrong_element
from smemnb.exercises.grading.who_stored import who_stored
from smemnb.exercises.registry import find
from smemnb.exercises.variants import edited, kernel_of
from tests.facts import facts


@cuda.jit
def turned(out, inp):
    tile = cuda.shared.array((8, 9), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out_col, out_row = cuda.blockIdx.y * 8 + tx, cuda.blockIdx.x * 8 + ty
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[ty, tx]


@cuda.jit
def by_way_of_a_name(out, inp):
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        value = inp[row, col]
        out[0, 0] = value


@cuda.jit
def none_there(out, inp):
    col, row = cuda.grid(2)
    if 0 < row < inp.shape[0] and col < inp.shape[1]:
        out[col, row] = inp[row, col]


@cuda.jit
def added(out, inp):
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        cuda.atomic.add(out, (0, 0), inp[row, col])


def exercise(*cases, start=None, budget=None):
    """A transpose as an exercise of its own."""
    return Exercise(
        name="ex99_turn",
        chapter="99_none",
        title="Turn",
        specification=lambda inp: inp.T.copy(),
        solution=turned,
        wrong=(),
        cases=cases,
        hints=("", "", ""),
        budget=budget or Budget(),
        start=start,
    )


def launched(rows, cols, block=(8, 8), budget=None):
    """A case: a matrix of that shape, in blocks of that shape."""
    return Case(
        lambda: (scattered((rows, cols), seed=3),), cover((cols, rows), block), block, budget
    )


def test_thread_line_and_source():
    """Cell (9, 2) of 16 x 24: block (1, 0), thread (2, 1); its tile row holds another cell."""
    run = observe(exercise(), launched(24, 16), turned)
    first = turned.py_func.__code__.co_firstlineno
    assert who_stored(exercise(), turned, run, 0, (9, 2)) == (
        f"Thread (2, 1) of block (1, 0) stores it in line {first + 10}, from tile[1, 2].",
        ["tile[1, 2]"],
    )


def test_value_in_a_name_and_several_threads():
    """What was loaded in another line is not reported; of 16 threads the last one is."""
    run = observe(exercise(), launched(4, 4), by_way_of_a_name)
    line = by_way_of_a_name.py_func.__code__.co_firstlineno + 5
    assert who_stored(exercise(), by_way_of_a_name, run, 0, (0, 0)) == (
        f"Thread (3, 3) of block 0 stores it in line {line} (15 other threads stored it before).",
        [],
    )


def test_nobody_and_atomics():
    """A cell that no thread stores has no writer; one that all add to has the last of them."""
    run = observe(exercise(), launched(4, 4), none_there)
    assert who_stored(exercise(), none_there, run, 0, (0, 0)) == ("", [])
    element = wrong_element(exercise(), run)
    assert (element.index, element.written) == ((0, 0), False)
    run = observe(exercise(start=0), launched(4, 4), added)
    said, _ = who_stored(exercise(start=0), added, run, 0, (0, 0))
    assert said.startswith("Thread (3, 3) of block 0 changes it by an atomic")


def test_in_a_verdict():
    """`check` tells it where there is no finding to go by."""
    kernel = edited(
        find("ex03_flip").solution, {"below =": "below = row", "right =": "right = col"}
    )
    verdict = check("ex03_flip", kernel)
    assert verdict.reason == "output"
    assert verdict.part("findings").ok
    assert verdict.hint.startswith("Thread (31, 30) of block (2, 1) stores it in line ")
    assert ", from tile[31, 30]." in verdict.hint


@cuda.jit
def upper_guard_alone(out, inp):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty, high, wide = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out_col = inp.shape[0] - 1 - (cuda.blockIdx.y * high + tx)
    out_row = inp.shape[1] - 1 - (cuda.blockIdx.x * wide + ty)
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty]


def test_an_index_below_zero_comes_first():
    """Not the cells that nobody stored, which those threads read: their store is at fault."""
    verdict = check("ex03_flip", upper_guard_alone)
    assert verdict.part("findings").text.startswith("wrapped index: Line ")
    assert verdict.hint.startswith("Guard the line: if out_col >= 0;")
    assert "the index" in verdict.hint


@cuda.jit
def two_dynamic(out, inp, weights):
    near = cuda.shared.array(0, float32)
    factors = cuda.shared.array(0, float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    for at in range(tx, cuda.blockDim.x + weights.shape[0] - 1, cuda.blockDim.x):
        place = cuda.blockIdx.x * cuda.blockDim.x + at
        near[at] = inp[place] if place < inp.shape[0] else float32(0)
    if tx < weights.shape[0]:
        factors[tx] = weights[tx]
    cuda.syncthreads()  # both are full before anyone reads them
    if i < out.shape[0]:
        acc = float32(0)
        for d in range(weights.shape[0]):
            acc += factors[d] * near[tx + d]
        out[i] = acc


@cuda.jit
def two_dynamic_tiles(out, a, b):
    n = cuda.blockDim.x
    a_tile = cuda.shared.array(0, float32)
    b_tile = cuda.shared.array(0, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    a_tile[ty * n + tx] = a[row, tx] if row < a.shape[0] and tx < a.shape[1] else float32(0)
    b_tile[tx * n + ty] = b[col, ty] if col < b.shape[0] and ty < b.shape[1] else float32(0)
    cuda.syncthreads()  # both are full before anyone reads them
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(n):
            gap = a_tile[ty * n + k] - b_tile[tx * n + k]
            acc += gap * gap
        out[row, col] = acc


def test_two_dynamic_arrays():
    """They begin at the same byte, which no finding says; nor does the race that may come of it."""
    verdict = check("ex08_parts", two_dynamic)
    assert verdict.part("findings").ok
    assert "shared array of 0 elements" in verdict.hint
    assert "byte 0" in verdict.hint
    racing = check("ex08b_distances", two_dynamic_tiles)
    assert racing.part("findings").text.startswith("race")
    assert "shared array of 0 elements" in racing.hint


@cuda.jit
def eight_taken_for_granted(out, inp):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.blockIdx.x * 8 + tx, cuda.blockIdx.y * 8 + ty
    if row < inp.shape[0] and col < inp.shape[1]:
        out[col, row] = inp[row, col]


def test_other_blocks():
    """Right in blocks of 8 x 8, wrong in blocks of 4 x 4: the verdict says that they differ."""
    made = exercise()
    runs = [
        observe(made, launched(8, 8, block), eight_taken_for_granted) for block in ((8, 8), (4, 4))
    ]
    assert [wrong_element(made, run) is None for run in runs] == [True, False]
    blocks = on_launches(runs)
    assert re.findall(r"\(\d, \d\)", blocks) == ["(8, 8)", "(4, 4)"]
    assert "blockDim" in blocks
    assert on_launches(runs[:1]) == ""
    same = on_launches([runs[0], runs[0]])
    assert runs[0].title in same
    assert "blockDim" not in same


def test_a_guard_may_hide():
    """With wrong values, a guard is not the only cure of an index out of range."""
    made = exercise(launched(9, 9))
    run = observe(made, made.cases[0], turned_without_guard)
    (first,) = [one for one in run.trace.findings if one.kind == "out_of_range"][:1]
    kernel = turned_without_guard
    assert "the index instead" in on_findings(made, kernel, first, wrong=True)
    assert on_findings(made, kernel, first, wrong=False) == first.cure


@cuda.jit
def turned_without_guard(out, inp):
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        out[col + int32(1), row] = inp[row, col]


def test_counts_where_more_is_allowed():
    """The worst line of the launches that have a budget, then the worst of those that have none."""
    free = Budget(extra=None, sectors_per_request=99)
    made = exercise(budget=Budget(extra=0, sectors_per_request=8))
    runs = [
        observe(made, launched(8, 8), turned_without_pad),
        observe(made, launched(9, 9, (8, 8), free), turned),
    ]
    wavefronts, sectors = count_parts(made, runs)[:2]
    assert wavefronts.ok and sectors.ok
    worst = max(row.extra for row in runs[1].trace.lines if row.space == "shared")
    assert worst > 0
    assert facts(wavefronts.text) == facts(f"0 {worst} 9 9 2 2 8 8")
    assert facts(sectors.text) == facts("4")
    assert [part.text for part in count_parts(made, runs[:1])[:2]] == [
        "0 extra on the worst line",
        "4 per request on the worst line, within the budget",
    ]


def test_what_a_value_is_made_of():
    """Where the store's line loads nothing, the question is about sums."""
    verdict = check("ex05_product", one_tile_alone)
    assert "computed from" in verdict.hint
    assert "in line" in verdict.hint
    assert ", from " not in verdict.hint


@cuda.jit
def one_tile_alone(out, a, b):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(min(4, a.shape[1])):
            acc += a[row, k] * b[k, col]
        out[row, col] = acc


def first_of(exercise, kernel, kind):
    """The first finding of a kind in the first case, and its run."""
    run = observe(exercise, exercise.cases[0], kernel)
    return next(one for one in run.trace.findings if one.kind == kind), run


def test_a_barrier_is_moved_where_no_more_are_allowed():
    """A race in a kernel with all barriers of its budget wants another place or another buffer."""
    steps = find("ex51_steps")
    less, in_place = (steps.wrong_kernel(steps.wrong[number]) for number in (0, 1))
    race, run = first_of(steps, in_place, "race")
    said = on_findings(steps, in_place, race, wrong=False, runs=[run])
    assert said.startswith(race.cure) and "move one, or let the two lines use different" in said
    race, run = first_of(steps, less, "race")
    assert on_findings(steps, less, race, wrong=False, runs=[run]) == race.cure


def test_two_buffers_want_one_barrier_per_step():
    """What the budget allows is what the hint asks for: at the end of the step, once."""
    verdict = check("ex51_steps", find("ex51_steps").wrong_kernel(find("ex51_steps").wrong[0]))
    assert verdict.hint.count("cuda.syncthreads()") == 1
    assert "at the end of the loop body" in verdict.hint and "another one" not in verdict.hint


def test_an_exercise_is_one_launch():
    """No hint proposes two launches; the fence goes where an atomic is to signal already."""
    verdict = check("ex50_total", find("ex50_total").wrong_kernel(find("ex50_total").wrong[0]))
    assert verdict.part("findings").text.startswith("race between blocks")
    assert "cuda.threadfence()" in verdict.hint and "atomic of line" in verdict.hint
    assert "two launches" not in verdict.hint and "same buffer" not in verdict.hint
    mirror = find("ex10_mirror")
    race, run = first_of(mirror, reads_what_others_store, "race_between_blocks")
    said = on_findings(mirror, reads_what_others_store, race, wrong=False, runs=[run])
    assert "from the inputs" in said and "threadfence" not in said


@cuda.jit
def reads_what_others_store(out, inp):
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        out[row, col] = inp[row, col]
        if col + 32 < inp.shape[1]:
            out[row, col] = out[row, col + 32]


def test_the_cause_stands_before_what_follows():
    """A missing barrier around the ticket is reported, not the race between blocks behind it."""
    peak = find("ex50_peak")
    (wrong,) = [one for one in peak.wrong if "ticket" in one.mistake and "Nobody" in one.mistake]
    verdict = check("ex50_peak", peak.wrong_kernel(wrong))
    text = verdict.part("findings").text
    assert text.startswith("race: ") and "last[0]" in text
    assert "cuda.syncthreads()" in verdict.hint and "cuda.threadfence()" not in verdict.hint


TICKET = """@cuda.jit
def peaks(out, peak, ticket, inp):
    best = cuda.shared.array(32, float32)
    tx, row, rows = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
    top = float32(0)
    for col in range(tx, inp.shape[1], cuda.blockDim.x):
        top = max(top, abs(inp[row, col]))
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, step))
    if tx % 32 == 0:
        best[tx // 32] = top
    cuda.syncthreads()
    if tx < 32:
        before = 0
        if tx == 0:
            for warp in range(1, cuda.blockDim.x // 32):
                top = max(top, best[warp])
            out[row] = top
            cuda.threadfence()
            before = cuda.atomic.add(ticket, 0, 1)
        before = cuda.shfl_sync(0xFFFFFFFF, before, 0)
        cuda.syncwarp()
        if before == rows - 1:
            for k in range(tx, rows, 32):
                top = max(top, out[k])
            for step in (16, 8, 4, 2, 1):
                top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, step))
            if tx == 0:
                peak[0] = top
                ticket[0] = 0
"""


def test_a_shuffle_orders_no_memory():
    """A ticket handed on by a shuffle wants a syncwarp, and the hint says so and why."""
    peak = find("ex50_peak")
    assert check("ex50_peak", kernel_of(TICKET, peak.solution))
    verdict = check(
        "ex50_peak", kernel_of(TICKET.replace("cuda.syncwarp()", "pass"), peak.solution)
    )
    text = " ".join(verdict.part("findings").text.split())
    assert "Thread 0 of that block knows by line" in text
    assert "nothing orders thread 1 behind thread 0" in text
    assert "cuda.syncwarp()" in verdict.hint and "A shuffle hands on a value" in verdict.hint
    assert "cuda.threadfence()" not in verdict.hint


def test_a_title_names_several_inputs():
    """The depth of a product is in no output's shape."""
    made = find("ex05_product")
    run = observe(made, made.cases[0], made.solution)
    (rows, cols), (_, depth) = run.expected[0].shape, run.inputs[0].shape
    assert run.title.startswith(
        f"output {rows} x {cols}, inputs {rows} x {depth} and {depth} x {cols}, grid "
    )
    assert (
        observe(exercise(), launched(8, 4), turned).title
        == "output 4 x 8, grid (1, 1), block (8, 8)"
    )


@cuda.jit(device=True)
def stage_a_column(tile, inp):
    tile[cuda.threadIdx.x, 0] = inp[cuda.threadIdx.x, 0]


@cuda.jit
def by_a_function(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    stage_a_column(tile, inp)
    cuda.syncthreads()  # the column is full before anyone reads it
    for _ in range(32):
        out[0, cuda.threadIdx.x] = tile[cuda.threadIdx.x, 0]


def test_a_line_of_a_device_function():
    """Its number alone would be looked for in the kernel."""
    case = Case(lambda: (scattered((32, 1), seed=4),), (1,), (32,))
    run = observe(exercise(), case, by_a_function)
    first = (by_a_function.py_func.__code__, stage_a_column.py_func.__code__)
    here, there = (code.co_firstlineno for code in first)
    assert {line.name for line in lines([run], "shared")} == {
        f"line {there + 2} of stage_a_column",
        f"line {here + 6}",
    }


def test_requests_of_shared_memory_by_line():
    """A store and 32 loads per warp: the line with the most is named."""
    case = Case(lambda: (scattered((32, 1), seed=4),), (1,), (32,))
    made = exercise(case, budget=Budget(extra=None, shared_requests=2))
    (part,) = [one for one in count_parts(made, [observe(made, case, by_a_function)]) if not one.ok]
    assert part.name == "requests"
    line = by_a_function.py_func.__code__.co_firstlineno + 6
    assert part.text.startswith(
        f"33 requests go to shared memory; budget 2 (32 of them in line {line})\n{line} | out[0, "
    )


@cuda.jit
def turned_without_pad(out, inp):
    tile = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out[ty, tx] = tile[ty, tx]
