"""Machine code of a kernel, run in NumPy over whole warps: what this code does to memory.

The decision behind this room: a prediction of the counters of *compiled* code is made by running
that code. Matching source accesses with machine instructions (by line, by width, by offsets) would
be a guess wherever the compiler merged, dropped, forwarded, unrolled or split an access. Here
integer arithmetic, predicates, branches and memory are those of the machine code, addresses and
branches follow from the arguments of the launch, and every executed memory instruction is counted
with its 32 addresses. What the interpreter does not know (an instruction, a modifier, a special
register) stops it with the instruction and its line; it never skips one.

Start reading at `run`, which goes through a launch. `state` holds registers, and groups of warps
that execute together; `operands` takes the text of operands apart, `readers` reads and writes
their values; `semantics` says how an instruction is implemented, `instructions/` what each one
does; `flow` splits and joins warps; `memory` and `parameters` are what the kernel finds; `tally`
counts.

**Limits**: floating-point results are those of IEEE arithmetic in NumPy, and correctly rounded
where the hardware approximates (MUFU), so a branch that hangs on the last bit of such a value may
go the other way. Threads that wait for other blocks, and clocks, are not modelled.
"""
