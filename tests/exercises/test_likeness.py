"""How like the solution an answer is: copies in other words are alike, other answers are not."""

import pytest
from test_other_answers import OTHER_ANSWERS

from smemnb.exercises.likeness import from_nothing, likeness
from smemnb.exercises.registry import exercises, find
from smemnb.exercises.source import source_of

OPEN = {
    *("ex04b_turn", "ex04b_channels", "ex04b_difference", "ex08b_distances", "ex08b_products"),
    *("ex12_marks", "ex13_fold", "ex14_eights", "ex15_running", "ex16_lengths", "ex17_dots"),
    *("ex18_above", "ex18_running", "ex18_woven", "ex20_added", "ex21_scaled", "ex23_blocks"),
    *("ex24_gather", "ex30_weights", "ex31_matches", "ex40_ring"),
    *("ex32_centres", "ex33_vector", "ex34_quads", "ex36_product"),
    *("ex35_neighbours", "ex41_arrival", "ex50_peak", "ex51_peaks", "ex52_smooth", "ex53_bins"),
    *("ex54_unit", "ex55_mode", "ex55_ranks", "ex55_shares", "ex60_nearest"),
    "ex61_layer",
}

COPY = '''
WIDE = 4 * 8
HALF: int = 16

@cuda.jit
def mirrored(result, matrix: "float32[:, :]"):
    """In words of one's own."""
    stage = cuda.shared.array((WIDE, 2 * HALF + 1), numba.float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    edge = matrix.shape[0]
    r0 = cuda.blockIdx.y * WIDE
    c0 = cuda.blockIdx.x * WIDE
    for row in range(y, WIDE, cuda.blockDim.y):
        if edge > c0 + row and edge > r0 + x:
            stage[row, x] = matrix[c0 + row, r0 + x]
    cuda.syncthreads()
    # and now out
    for row in range(y, WIDE, cuda.blockDim.y):
        if edge > r0 + row and c0 + x < edge:
            result[r0 + row, c0 + x] = matrix[r0 + row, c0 + x] - stage[x, row]
'''


def test_where():
    """Only where a whole kernel is the learner's: a stub of three lines has one honest answer."""
    assert {one.name for one in exercises() if from_nothing(one)} == OPEN
    bias = find("ex00_bias")  # an empty signature, and three lines
    assert likeness(bias, source_of(bias.solution)) is None


@pytest.mark.parametrize("name", sorted(OPEN))
def test_itself(name):
    """A solution is as like itself as can be."""
    exercise = find(name)
    whole = "\n\n".join(map(source_of, (*exercise.written, exercise.solution)))
    assert likeness(exercise, whole) == 1


def test_copy():
    """Other names, comments, constants and lines are the same kernel."""
    assert likeness(find("ex04b_difference"), COPY) == 1


def test_functions():
    """What a kernel calls counts as if it stood there."""
    text = source_of(find("ex04b_difference").solution)
    head, body = text.split("    for y in range(ty, 32, cuda.blockDim.y):  #")
    body = "    for y in range(ty, 32, cuda.blockDim.y):  #" + body
    parameters = "out, inp, tile, tx, ty, n, top, left"
    apart = (
        f"@cuda.jit(device=True)\ndef rest({parameters}):\n{body}\n\n{head}    rest({parameters})"
    )
    assert likeness(find("ex04b_difference"), apart) > 0.85


def test_others():
    """Right answers of another design lie well below."""
    for name, kernels in OTHER_ANSWERS.items():
        for kernel in kernels if name in OPEN else ():
            assert 0 < likeness(find(name), source_of(kernel)) < 0.8
    assert likeness(find("ex04b_channels"), COPY) < 0.2


@pytest.mark.parametrize("text", ["", "x = 1", "def f(:", "\0", "x = " + "-" * 5000 + "1"])
def test_no_kernel(text):
    """A text without a function has no likeness."""
    assert likeness(find("ex04b_turn"), text) is None
