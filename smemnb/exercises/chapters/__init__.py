"""The exercises of the workbook, a file for each; the table lists them as the chapters do."""

CHAPTERS = {
    "10_threads": ("ex00_scale", "ex00_bias", "ex10_mirror"),
    "11_sectors": ("ex00_rounds", "ex11_columns"),
    "12_shared_memory": ("ex01_place", "ex01_window", "ex12_marks"),
    "13_races": ("ex01_rank", "ex13_fold"),
    "14_banks": ("ex14_eights",),
    "15_rows_and_columns": ("ex02_pitch", "ex02_quarter", "ex15_running"),
    "16_widths": ("ex02_groups", "ex16_lengths"),
    "17_warp": ("ex17_largest", "ex17_dots"),
    "18_checkpoint": ("ex18_woven", "ex18_running", "ex18_above"),
    "20_transpose": ("ex03_flip", "ex20_added"),
    "21_pad": ("ex03_batch", "ex03_planes", "ex21_scaled"),
    "22_swizzle": ("ex04_xor", "ex04_fields", "ex04_records"),
    "24_checkpoint": ("ex04b_turn", "ex04b_channels", "ex04b_difference"),
    "30_tiles": ("ex05_product", "ex30_weights"),
    "31_limits": ("ex05_longest", "ex05_rows", "ex31_matches"),
    "32_register_tiles": ("ex06_column", "ex06_square", "ex06_turned"),
    "35_two_buffers": ("ex07_ahead", "ex07_walk"),
    "40_budgets": ("ex08_parts", "ex08_planes"),
    "42_profiling": ("ex09_peaks",),
    "43_checkpoint": ("ex08b_gram", "ex08b_distances", "ex08b_products"),
}
