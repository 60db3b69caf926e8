"""Times of the ladders on a GPU: the machinery of `smemnb bench`.

    case         what is measured
    contenders   names of the ladder -> launches
    device       matrices, and whether results are right
    libraries    torch and CuPy to stand beside
    ahead        kernels compiled side by side
    timing       interleaved rounds, medians, quartiles
    run          one case: checked, timed, rows
    overhead     host time of an operation beyond a launch
    provenance   GPU, clocks, versions
    session      a whole run, its file growing
    sweep/       seeded random problems in place of chosen shapes
    patterns/    sums, scans, stencils, histograms, rows

Read `run` first.
"""
