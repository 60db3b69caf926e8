"""Products that no reader needs to go through: variants of the ladder's last rungs, from factories.

`whole` makes the kernel of any `Tiling`: for shapes that are not of whole tiles, for rows that do
not begin at multiples of 16 bytes, for smaller tiles, and for trials. `sliced` and `streamed` are
made of the same pieces: groups of warps that part the depth, and blocks that share tiles. What they
have in common with a rung of the ladder is held to it by tests: values, counts, registers and the
main loop as compiled.

whole           `matmul_of(tiling)`
sliced          for small results: groups of warps share a tile and part the depth
staged          `matmul_async` with other numbers of stages, in static or dynamic memory
streamed        blocks that stay, and share tiles that do not come out even; see `shares`
balanced        any layout, no guards: `matmul_inside_of(cut)` has a block for each tile, and
                `matmul_balanced_of(cut)` blocks that stay and share tiles evenly; see `even`
advancing       their operands, from global memory to a tile
ending          their results, stored by whole rows
guarded         any shape, by rows or columns, batches: `matmul_guarded_of(cut)`; see `operands`
vectors         a few vectors and a large matrix, which is read once: `vector_product_of(tiling)`
vector_tiling   how such a product is cut, and `vector_plan`, the rules that choose it
direct          an element of the result by a few lanes, straight from memory: `matmul_direct_of`
shallow         a shallow depth: b in registers, the result stored once: `matmul_shallow_of`
small           few tiles: the threads of a block part the depth: `matmul_small_of(tiling)`
loads           from global memory to a tile, by 16 bytes or element by element
pieces          where a lane works, fragments, the outer product, the store of the result
"""
