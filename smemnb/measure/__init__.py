"""What needs a GPU or NVIDIA's tools, and what was read with them.

    bench/          times of the ladders, interleaved: `smemnb bench`
    bounds/         the least times that the model allows
    results/        the file of times: tables, comparisons, charts
    readings        counters, findings and values of the teaching kernels, for `recorded/`
    nsight          counters of Nsight Compute, of one program
    stalls          what the warps of a kernel wait for, of any program
    verify/         counters beside both views of the model: `smemnb verify`
    sanitizer       compute-sanitizer over a program, or over every rung
    hazards         what compute-sanitizer wrote, as data: `smemnb sanitize`
    recorded/       readings that come with the package; `smemnb.laboratory` makes most of them
    engine_bench    the lockstep engine itself, on any machine

Nothing of it is imported unless it is asked for; the readings that come with the package need no
GPU.
"""
