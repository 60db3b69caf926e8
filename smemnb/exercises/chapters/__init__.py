"""The exercises of the workbook, a file for each; the table lists them as the chapters do."""

CHAPTERS = {
    "00_start_here": ("ex00_scale", "ex00_bias", "ex00_rounds"),
    "01_shared_memory": ("ex01_place", "ex01_window", "ex01_rank"),
    "02_banks": ("ex02_pitch", "ex02_quarter", "ex02_groups"),
    "03_transpose": ("ex03_flip", "ex03_batch", "ex03_planes"),
    "04_swizzle": ("ex04_xor", "ex04_fields", "ex04_records"),
    "04b_checkpoint": ("ex04b_turn", "ex04b_channels", "ex04b_difference"),
    "05_tiled_matmul": ("ex05_product", "ex05_longest", "ex05_rows"),
    "06_register_tiling": ("ex06_column", "ex06_square", "ex06_turned"),
    "07_double_buffering": ("ex07_ahead", "ex07_walk"),
    "08_budgets": ("ex08_parts", "ex08_planes"),
    "08b_checkpoint": ("ex08b_gram", "ex08b_distances", "ex08b_products"),
    "09_profiling": ("ex09_peaks",),
}
