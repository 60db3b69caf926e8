"""What is recorded on a GPU or with NVIDIA's compilers and comes with the package, and by what.

Nobody needs this room to use the package: `smemnb verify` reads the set of kernels, chapters read
what was recorded. The files lie in `smemnb/measure/recorded/`.

    corpus/           the set of kernels of `smemnb verify`, by family
    agreement         counters of the set beside both views of the model: h200_agreement.json
    here              cases of the set on this machine's GPU, as `42_profiling` shows them
    beside            a product of one's own beside the rungs, as `36_beside_the_library` shows it
    twins/            kernels with a barrier less, and racecheck's verdicts: h200_twins.json
    severities/       kernels that are wrong on purpose, and what a GPU makes of them:
                      h200_severities.json, SEVERITIES.md
    conflict_counter  the counter of bank conflicts on a kernel without any:
                      h200_conflict_counter.json
    copies_probe      asynchronous copies of one warp, by counters: h200_copies.json
    strides           times of loads at several strides: h200_strides.json
    tensor_values     products of tensor cores beside the rule: h200_tensor_values.json
    latency/          chases, and kernels that each wait for one thing: h200_latency.json
    step_times        times of the kernels of 34_fast_code: h200_steps.json
    loop_order        loads, stores and products in the order of the compiler: loop_order.json
    loop_code         registers and instructions of main loops: machine_code.json
    compiled_views    machine code per source line, as text: compiled_views.json

On a GPU, with Nsight Compute:

    python -m smemnb.laboratory record --out FILE.json
    python -m smemnb.laboratory.twins record --out FILE.json
    python -m smemnb.laboratory.conflict_counter FILE.json
    python -m smemnb.laboratory.copies_probe record FILE.json
    python -m smemnb.laboratory.latency record --out FILE.json
    python -m smemnb.laboratory timing

On a GPU alone:

    python -m smemnb.laboratory.step_times FILE.json
    python -m smemnb.laboratory.tensor_values FILE.json

On a GPU that was given for it, for these kernels may hang it:

    python -m smemnb.laboratory.severities record --launch-wrong-kernels --out FILE.json

On any machine with the compiler's wheels:

    python -m smemnb.laboratory build --raw RAW.zip ... --out FILE.json
    python -m smemnb.laboratory.loop_order FILE.json MODULE:KERNEL ...
    python -m smemnb.laboratory.loop_code FILE.json
    python -m smemnb.laboratory.compiled_views FILE.json

Recorded files name the command that made them as it was called then.
"""
