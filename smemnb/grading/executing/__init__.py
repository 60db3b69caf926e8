"""Learners' code, run where a kernel cannot be taken from its text: `smemnb grade --execute`.

    sandbox     what this machine has to keep such code apart, by trial; how to start it in there
    landlock    a process gives up the files that are not its own (Linux)
    calls       a process gives up memory that outlives it, and rights of files (Linux)
    keeper      watches the processes of one learner: memory, number, bytes, time; ends them all
    runner      in there: runs the statements that a kernel needs, one exercise after the other
    recorder    what `check` is in there: the kernel and all that it names as a Program

What comes out is a `Program`, as text. It is one more submission: the verdict is made outside, by
the same judges. A forged one is worth as much as the same kernel handed in.
"""
