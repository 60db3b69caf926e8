"""Times of the patterns' operations and rungs on a GPU: `smemnb bench patterns [room]`.

    case       what a room measures: inputs, contenders, the right answer
    model      readings of a room, as a file
    run        one case: checked, timed in turns, a reading
    report     a table of readings
    command    a whole run
    reduction, scan, stencil, histogram, rows    the cases of a room, one module each

A room is a module with `cases() -> Sequence[PatternCase]`, and `random_case(rng) -> PatternCase`
for `--sweep`, whose sizes are drawn. Times are those of the GPU (`sweep.timing`): launches go
round over several sets of inputs, captured into a CUDA graph where they can be, and contenders take
turns.
"""
