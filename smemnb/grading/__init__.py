"""Submissions of many learners, graded in processes of their own: `smemnb grade FOLDER`.

    command       the command line
    submissions   whose files lie in the folder; a fresh copy for each process
    reading       which kernel of a file answers which exercise, and what it needs beside it
    child         the process: takes the kernels alone, grades them, reports line by line
    limits        memory, files and processor time of it
    running       starts and watches the processes; a learner that stops one harms no other
    outcome       what is said of one exercise
    tables        grades as text, CSV and JUnit XML
    bar           how far it is

A kernel is found by its `check("ex01_place", place)`. Of the file only the statements run that
the kernel needs, as they stand when that line runs: definitions, imports and constants, but no
launches and no prints. **Limits**: this keeps accidents and pranks apart; it is no sandbox
against an attacker, who has the rights of whoever grades. Grade strangers in a container.
"""
