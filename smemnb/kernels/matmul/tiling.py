"""How a product is cut: tiles of blocks, warps and threads, and in which order things are done.

A block makes `rows` x `cols` elements of the result, `depth` columns of a at a time. Each of its
warps makes `warp_rows` x `warp_cols` of them, by `lanes_down` x `lanes_across` lanes. A lane's
rows are groups of 4 neighbours, `4 * lanes_down` apart, so that it reads them by 16 bytes; its
columns likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
QUAD = 4  # elements in 16 bytes


@dataclass(frozen=True)
class Tiling:
    """The choices of a register-tiled product.

    Attributes:
        interleaved: neighbouring lanes in pairs share rows or columns, so that both fragment reads
            are broadcasts in lane pairs and take two wavefronts where they could take four.
        buffers: shared tiles of each matrix; with 2 the next ones are loaded during the product.
        pinned: loads of the next tiles stay where they are written, at the top of the main loop;
            the compiler would move them down, close to where their values are stored.
        fragments: registers for rows and columns; with 2 those of step k + 1 are read during k.
        turn: rows after which the outer product goes back along the columns; 0: never.
        stage_at: the step before which the next tiles are stored; None: after the last.
        band: rows of tiles that are walked together, 0 for row after row.
        resident: blocks that a multiprocessor must hold at once.
        slices: groups of warps that make the same tile, each from its own part of the depth; their
            results are added at the end. Whole tiles only, a depth of whole tiles in each slice.
    """

    rows: int = 128
    cols: int = 128
    depth: int = 8
    warp_rows: int = 16
    warp_cols: int = 128
    lanes_down: int = 2
    interleaved: bool = False
    buffers: int = 1
    pinned: bool = False
    fragments: int = 1
    turn: int = 0
    stage_at: int | None = None
    band: int = 0
    resident: int = 2
    slices: int = 1

    @property
    def lanes_across(self) -> int:
        """Lanes side by side in a warp's tile."""
        return WARP // self.lanes_down

    @property
    def thread(self) -> tuple[int, int]:
        """Rows and columns of a thread."""
        return self.warp_rows // self.lanes_down, self.warp_cols // self.lanes_across

    @property
    def workers(self) -> int:
        """Threads of a slice: those that make a tile's product together."""
        return WARP * (self.rows // self.warp_rows) * (self.cols // self.warp_cols)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.workers * self.slices

    @property
    def quads(self) -> tuple[int, int]:
        """16-byte loads per thread for a tile of a, and for one of b."""
        per_pass = QUAD * self.workers
        return self.rows * self.depth // per_pass, self.cols * self.depth // per_pass

    @property
    def a_pitch(self) -> int:
        """Elements from one column to the next in the turned tile of a.

        The 4 pad words keep apart the stores of lanes that hold different k of the same rows.
        """
        return self.rows + QUAD

    @property
    def sizes(self) -> tuple[int, int]:
        """Elements of one shared tile of a, and of b."""
        return self.depth * self.a_pitch, self.depth * self.cols
