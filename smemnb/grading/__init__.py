"""Submissions of many learners, graded without running their code: `smemnb grade FOLDER`.

    command         the command line
    submissions     whose files lie in the folder; what they hold, as bytes
    running         the way of one learner: taken, executed where asked for, judged; watched
    workers         processes that grade, as the grader sees them
    worker_process  such a process: imports everything once, forks for each job
    jobs            what it can be asked for: take and judge
    taking          kernels out of syntax trees, no statement executed
    program         a kernel and all that it names, as plain data
    building        a kernel that can be launched, made of a program
    judging         the verdict on it
    executing       learners' code run, kept apart (`--execute`); programs come out
    limits          of time, memory, processes and bytes
    processes       which there are below one, what memory they hold, how all are ended
    results         grades kept as they come; a stopped run goes on
    outcome         what is said of one exercise
    tables          grades as text, CSV and JUnit XML
    bar             how far it is

A kernel is found by its `check("ex01_place", place)`, or a `forecast` with the same beginning. It
is taken from the text, with the constants and device functions that it names, and judged by
processes of ours with limits: no statement of a submission is executed, so nothing of it can forge
a grade, read another's answer or change a file. What cannot be taken is said with its line.
`--execute` runs the statements that such a kernel needs, in what this machine has to keep them
apart (`executing.sandbox` has the levels, `smemnb doctor` says which it is); what comes out is one
more text, judged in the same way.
"""
