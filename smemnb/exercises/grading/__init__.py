"""How a kernel is graded.

observe     the launches of an exercise, run and watched in the engine
values      whether the outputs are right, and the first element that is not
fresh       what a case of a seed allows: the counts of the solution's own run
parts       findings and counts against what the exercise asks
overlap     which loads are under way while a tile is read, where an exercise asks for it
pipeline    whether copies are under way while a tile is read, where an exercise asks for it
machine_code  the tile loop of the compiled kernel, where the compiler's wheels are
advice      the hint: what most likely is wrong
who_stored  which thread stored a wrong element
verdict     the answer, a line per part
"""
