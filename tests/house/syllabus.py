"""What the course covers, and where: each idea, and each published claim that is put right.

A row is (idea, chapter, words that stand in one of its cells, as text, code or output). A chapter
adds its rows here; `test_syllabus.py` finds the cell of each, and every `**Claim**` of a chapter.
"""

from __future__ import annotations

from nbformat import NotebookNode

Row = tuple[str, str, str]

SHARED_MEMORY: tuple[Row, ...] = (
    ("a scratchpad that your code fills", "01_shared_memory", "scratchpad on the chip"),
    ("stage, barrier, reuse", "01_shared_memory", "## Stage, barrier, read"),
    ("the missing barrier, a race", "01_shared_memory", "turn_no_barrier"),
    ("the missing second barrier", "01_shared_memory", "fold_one_barrier"),
    ("a barrier in a branch", "01_shared_memory", "copy_barrier_inside"),
    ("an early return before a barrier", "01_shared_memory", "copy_early_return"),
    ("uninitialised cells", "01_shared_memory", "no thread of this block has"),
    ("leftovers of an earlier block", "01_shared_memory", "a GPU gives what an earlier block left"),
    ("capacity per architecture", "01_shared_memory", "cc 9.0         233472  49152"),
)
BANKS: tuple[Row, ...] = (
    ("32 banks of 4 bytes, the formula", "02_banks", "bank = (address // 4) % 32"),
    (
        "the stride table, degree = gcd",
        "02_banks",
        "[ 1  1  2  1  4  1  2  8  4 16  8 32  1 16 32]",
    ),
    ("multicast of any lanes, several words", "02_banks", "multicast: 2 words for 32 lanes"),
    ("broadcast misread as a conflict", "02_banks", "most lanes in one bank 32   wavefronts 1"),
    ("8- and 16-byte phases", "02_banks", "2 phases: lanes 0-15; lanes 16-31"),
    ("dtypes: columns of [32][w]", "02_banks", "uint8     [32][32]  8 to  8"),
    ("16 x 16 blocks", "02_banks", "clean for both: 0 of 49"),
    ("an odd width gets worse by a pad", "02_banks", "n-way [ 1  1 32  1  1 32  1]"),
    ("atomics", "02_banks", "atomic_increment"),
    ("the model beside counters", "02_banks", "69 of 69 equal"),
    ("when conflicts matter", "02_banks", "## When it matters"),
    ("relative bandwidth: 1, 1/32, padded, swizzled", "04_swizzle", "column 0.03125, padded 1"),
)
TRANSPOSE: tuple[Row, ...] = (
    ("naive, coalesced loads", "03_transpose", "show_source(transpose_naive)"),
    ("naive, coalesced stores", "03_transpose", "show_change(transpose_naive, transpose_gathered)"),
    ("sectors and wavefronts distinguished", "03_transpose", "33 cells apart: global 32 sectors"),
    (
        "the tile, its 32-way read",
        "03_transpose",
        "load tile[tx, ty]                 192        6,144",
    ),
    ("the pad and its 128 bytes", "03_transpose", "128 bytes more than 4096, 3.1%"),
    ("the block's indices change places", "03_transpose", "transpose_printed    6912 sectors"),
    ("symmetric data hides a transposed index", "03_transpose", "row + column 100.00% right"),
    ("block shape, several rows per thread", "03_transpose", "show_source(transpose_rows8)"),
    ("any rectangle", "03_transpose", "97 x 3: True"),
    ("the ladder beside a copy, the limit", "03_transpose", "copy_wide                    4268"),
    ("block shape worth as much as the pad", "03_transpose", "padded -> rows4: x 1.52"),
)
SWIZZLE: tuple[Row, ...] = (
    ("xor: one-to-one, and back", "04_swizzle", "xor twice gives the column back: True"),
    ("xor: rows and columns clean", "04_swizzle", "columns: [1] wavefront"),
    ("no byte more", "04_swizzle", "transpose_swizzled  384 wavefronts, 4096 bytes"),
    ("rotation", "04_swizzle", "(col + row) % 32  1024 places, columns 1-way"),
    ("wide tiles", "04_swizzle", "width 64: col ^ (row // 64) 32-way, col ^ (row % 32) 1-way"),
    ("narrow tiles", "04_swizzle", "0 ^ (row // 4 % 8) 1-way"),
    ("16-byte chunks", "04_swizzle", "XorChunks(rows=32, cols=32, itemsize=4): 4,096 bytes, clean"),
    ("float4 pads, [32][36]", "04_swizzle", "smallest clean pad: Padded, pad_elems=4, 4,608 bytes"),
    ("the general swizzle", "04_swizzle", "bits=5, base=0, shift=5) True"),
    ("a layout solver", "04_swizzle", "layout.solve([store, load], shape=(128, 8))"),
    ("2-D blocks: no pad of 16 x 16", "04_swizzle", "pad 2: store 2-way, load 1-way"),
    ("pads by dtype", "04_swizzle", "pad_elems=4, 1152 bytes"),
    ("phantom padding", "04_swizzle", "warning, phantom padding"),
    ("pad on the wrong axis", "04_swizzle", "def flip_wrong_axis"),
    ("pad or swizzle: occupancy", "04_swizzle", "Padded 16,640 bytes: 3 blocks at once"),
    ("pad or swizzle: alignment, addresses", "04_swizzle", "constant from row to row"),
)
TILED: tuple[Row, ...] = (
    ("one thread per cell, coalesced", "05_tiled_matmul", "show_source(matmul_naive)"),
    ("loads: 2 N^3 -> 2 N^2 ceil(N / T)", "05_tiled_matmul", "return 2 * N**2 * -(-N // T)"),
    ("intensity: 0.25 -> 8 FLOP/byte", "05_tiled_matmul", "loads,   8.0 FLOP/byte"),
    ("compulsory traffic", "05_tiled_matmul", "a and b, loaded once: 262,144 sectors"),
    ("reuse misleads: warps share", "05_tiled_matmul", "49,152 sectors / 6,144 = 8.0"),
    ("reuse misleads: not DRAM", "05_tiled_matmul", "stands *above* the line"),
    ("the tile loop and its two barriers", "05_tiled_matmul", "def matmul_whole(out, a, b):"),
    ("without each barrier", "05_tiled_matmul", "right_cells(tiled(second=False))"),
    ("guards and zero fill: 70, 97 x 3", "05_tiled_matmul", "97 x 3: 0 wrong cells, 6 errors"),
    ("rectangles, single rows and columns", "05_tiled_matmul", 'check("ex05_product", product)'),
    ("a fill that is not zero", "05_tiled_matmul", 'check("ex05_longest", longest)'),
    ("padding this kernel buys nothing", "05_tiled_matmul", "[32][33]:  57024 wavefronts, 0 extra"),
    ("a product where a pad counts", "05_tiled_matmul", 'check("ex05_rows", by_rows)'),
    ("the roofline, rungs on it", "05_tiled_matmul", "roofline: 4.8 TB/s of DRAM"),
    ("the wavefront bound", "05_tiled_matmul", "at most 8.4 TFLOP/s"),
    ("merged reads, counter beside model", "05_tiled_matmul", "counter 835,584"),
    ("float64 promotion", "05_tiled_matmul", "`acc = 0.0` in your `product`"),
    ("equal test data hides an index", "05_tiled_matmul", "Which `b` hides it?"),
)
REGISTERS: tuple[Row, ...] = (
    ("1-D register tile", "06_register_tiling", "def column(out, a, b):"),
    ("64x64 with 4x4", "06_register_tiling", "square         (64, 64), 256 threads: 4x4"),
    ("128x128 with 8x8", "06_register_tiling", "8x8            (128, 128), 256 threads"),
    ("counts per multiply-add", "06_register_tiling", "per multiply-add:      requests"),
    ("which columns a thread takes", "06_register_tiling", "pitch 65: columns 16 apart 1-way"),
    (
        "the turned tile of a, its store",
        "06_register_tiling",
        "depth 16, n-way of the store by pad",
    ),
    ("the clean pad", "06_register_tiling", 'check("ex06_turned", turned)'),
    ("16-byte loads", "06_register_tiling", "show_source(fragment_reads(WIDE))"),
    ("index arithmetic, read off the SASS", "06_register_tiling", "UIADD3.X"),
    ("unrolling in Numba", "06_register_tiling", "show_source(unroll)"),
    ("issue: what else is in the loop", "06_register_tiling", "FFMA, LDS, rest of the loop"),
    (
        "the ladder beside the library",
        "06_register_tiling",
        "bar_chart([every.panel], every.source)",
    ),
)
BUFFERS: tuple[Row, ...] = (
    ("where a load is waited for", "07_double_buffering", "2 LDG, 2 STS, BAR, 5 LDS"),
    ("two buffers, one barrier", "07_double_buffering", "buffers 2, barrier True: races 0"),
    ("one barrier, one buffer: a race", "07_double_buffering", "print(raced(buffered(1))[1][0])"),
    ("register prefetch", "07_double_buffering", 'check("ex07_ahead", ahead)'),
    ("loads that the compiler moves", "07_double_buffering", "243 of 512  46.8"),
    ("overlap in time", "07_double_buffering", "two buffers: 1.18 times"),
    ("what a second buffer costs", "07_double_buffering", "2 of each: 3 blocks"),
    ("a transpose that walks", "07_double_buffering", 'check("ex07_walk", walk)'),
)
BUDGETS: tuple[Row, ...] = (
    (
        "capacity, with and without opting in",
        "08_budgets",
        "cc  8.6   128           100          99",
    ),
    ("static arrays and their limit", "08_budgets", "4 tiles: stage: a block needs 65,536"),
    ("dynamic shared memory", "08_budgets", "trace(dynamic)[1, 32, 0, 65536](cells)"),
    ("dynamic memory in parts", "08_budgets", 'check("ex08_parts", parts)'),
    ("too much shared memory", "08_budgets", "a block has at most 232448"),
    ("occupancy, the least of four", "08_budgets", "warps allow 8, registers 6, shared 6"),
    ("carve-out", "08_budgets", "carve-outs, KB: [0, 8, 16, 32, 64, 100, 132, 164]"),
    ("occupancy collapse", "08_budgets", "129 registers: 1 block"),
    ("occupancy against tile size", "08_budgets", "0.833"),
    ("over-padding", "08_budgets", "pitch 128: column 32-way, 3 blocks"),
    ("one tile for several matrices", "08_budgets", 'check("ex08_planes", planes)'),
    ("a tile sized on paper", "08_budgets", "128:  64 sums, 0.250 reads per FMA"),
    ("low occupancy that wins", "08_budgets", "209 registers,  8 of 64 warps, 52.5"),
    ("n-way made visible in time", "08_budgets", "32                  32                23.7"),
)
PROFILING: tuple[Row, ...] = (
    ("request, wavefront, sector in ncu's names", "09_profiling", "shared_load_wavefronts  8,192"),
    ("the trace beside the counters", "09_profiling", "the trace equals the counters"),
    ("counters with arbitration", "09_profiling", "hardware  33,735 to 34,371"),
    ("the patched counter is off", "09_profiling", "patched 8, hardware 4, ours 4"),
    ("SASS per line, LDS widths", "09_profiling", "40  16 LDS, 4 LDS.128"),
    (
        "reads merged by the compiler",
        "09_profiling",
        "became 16 LDS and 4 LDS.128: 24 wavefronts",
    ),
    ("predicted against measured", "09_profiling", "each counter of all launches is as compiled"),
    ("warps with all lanes off", "09_profiling", "executed as 1,024 STS: by warps with all lanes"),
    ("the sanitizer's four tools", "09_profiling", "memcheck 0, racecheck 0, initcheck 0"),
    ("racecheck beside our findings", "09_profiling", "12, 17   nothing    race in warp *"),
    ("what racecheck does not tell", "09_profiling", "race atomic *"),
    ("a clean report is of a launch", "09_profiling", "A clean report holds for a launch"),
    ("library first", "09_profiling", "cuBLAS, cuDNN, cuFFT, CUB"),
    ("mend a kernel by its table", "09_profiling", 'check("ex09_peaks", below_peak)'),
)
CLAIMS: tuple[Row, ...] = (
    ("any lanes, any words, not all 32", "02_banks", "(One reads: only all 32 lanes may.)"),
    ("lanes per bank give the degree", "02_banks", "Lanes do not count; **different words** do."),
    ("threads 1 and 17 meet in bank 1", "02_banks", "(One tutorial has bank 1.)"),
    ("the pad costs 1 KB", "03_transpose", "this pad costs 1 KB"),
    ("a wavefront is 32 bytes", "03_transpose", "a wavefront is a transaction of 32 bytes"),
    ("the conflict is in the write", "03_transpose", "conflicts when it writes the tile"),
    ("a printed transpose", "03_transpose", "change places too: `blockIdx.x` gives the row"),
    ("after the pad, shared memory is busy", "03_transpose", "padded   4% busy"),
    ("3 TB/s of shared memory on a V100", "03_transpose", "V100: 15.7 TB/s"),
    ("col ^ (row / TileWidth)", "04_swizzle", "The claim's shift is 0 in all these rows"),
    ("[N][N+1] always", "04_swizzle", "`[N][N+1]` always works"),
    ("the baseline is i, j = cuda.grid(2)", "05_tiled_matmul", "`matmul_scattered`: lanes take"),
    ("bigger tiles square the reuse", "05_tiled_matmul", "bigger tiles square the reuse"),
    ("9,800 -> 1,200 sectors", "05_tiled_matmul", "from 9,800 sectors to 1,200"),
    ("slices of NumPy prove the guards", "05_tiled_matmul", "so no guard can be missing"),
    ("the loop over gridDim.x", "05_tiled_matmul", "`gridDim.x` tiles are the depth"),
    ("the pad makes it 4 -> 12 TFLOPS", "05_tiled_matmul", "4 -> 12 TFLOPS"),
    ("3 TB/s of a V100's shared memory", "05_tiled_matmul", "V100: shared memory 15.7 TB/s"),
    ("tx*4 + n is fine with a pad", "06_register_tiling", "is fine with row padding"),
    ("[BK][BM + 1]", "06_register_tiling", "`[BK][BM + 1]`"),
    ("a transposed for coalesced loads", "06_register_tiling", "transposed for coalesced loads"),
    ("a store before the product overlaps", "07_double_buffering", "stalls at the store"),
    ("164 KB per block on an A100", "08_budgets", "ask for 164 KB per block on an A100"),
    ("static arrays above 48 KB", "08_budgets", "static arrays above 48 KB fail to launch"),
    ("a carve-out of 28 KB", "08_budgets", "`PreferredSharedMemoryCarveout` sets it"),
    ("a wavefront is a 32-byte transaction", "09_profiling", "a wavefront is a transaction of 32"),
    ("the conflict counter should be 0", "09_profiling", "bank conflicts should be 0"),
    ("padded, so near its peak", "09_profiling", "throughput is near its peak"),
)
ROWS = (
    *SHARED_MEMORY,
    *BANKS,
    *TRANSPOSE,
    *SWIZZLE,
    *TILED,
    *REGISTERS,
    *BUFFERS,
    *BUDGETS,
    *PROFILING,
    *CLAIMS,
)


def cells_with(book: NotebookNode, words: str) -> list[int]:
    """Numbers of the cells in which the words stand, as text, code or output."""
    return [n for n, cell in enumerate(book.cells) if words in _said(cell)]


def _said(cell: NotebookNode) -> str:
    parts = [cell.source, cell.source.replace("\n", " ")]
    for output in cell.get("outputs", []):
        parts.append("".join(output.get("text", "")))
        parts.append("".join(output.get("data", {}).get("text/plain", "")))
    return "\n".join(parts)
