"""The fast kernels from factories: any length, float32 and float64, rows that begin anywhere.

pieces      what they share: loads and stores of registers, sums over lanes and warps, and what
            each operation makes of maximum and sum, or mean and variance
registers   a row in the registers of a few lanes, of a warp, or of a block
single      rows of one element
parts       a long row in the registers of several blocks: one launch, or two
columns     softmax down the columns of a matrix, or of several

All kernels of rows take `(out, inp, weight, bias, ..., eps)`, matrices whose rows lie anywhere, so
that one text serves all operations; one without weights passes any array in their place.
"""
