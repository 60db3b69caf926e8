"""Random problems instead of chosen shapes: the machinery of `smemnb bench sweep`.

    problems    seeded random shapes, layouts and element sizes
    model       the file: where, how, and a reading per problem
    summary     geometric mean, quartiles, shares, the worst
    report      a file as text
    compare     two files, problem by problem
    chart       ratio over size
    timing      how many launches, rounds, medians: one problem from checks to a reading
    place       matrices and streams of torch and CuPy on the GPU
    graph       launches captured into a CUDA graph
    session     a whole sweep, its file growing, continued where it was
    command     from a wish to a file on a GPU
    sanitized   compute-sanitizer over problems of a sweep

Read `timing` first.
"""
