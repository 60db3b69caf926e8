"""Tensor products of any type, layout and shape, from factories.

staged      the product: `tensor_product_of(cut, kind, ...)`
copies      an operand's way from global memory into the tiles of a stage
fragments   from the tiles into the registers of a warp, and the multiplication there
ending      results: scaled, rounded once, stored by 16 bytes
parts       sums of parts of the depth added up, in order
aligned     copies of operands whose rows do not begin at 16 bytes
peak        mma from registers alone: what products are measured against
"""
