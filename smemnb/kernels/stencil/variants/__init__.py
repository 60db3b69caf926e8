"""Stencils of any size, element type and edge: nobody has to read them to understand a rung.

edges    which element stands for one beyond an edge, by scipy.ndimage's modes
sliding  `stencil_ahead` and `separable_sliding` for other sizes, types, edges and widths
"""
