"""What `smemnb bench` measured: its file, as typed rows; tables, comparisons and charts of it.

    model       `Results` and what it holds
    store       one JSON file: read with reasons, written at once or not at all
    present     a recorded file beside the ladders as they are now: what was not measured
    table       rows as text
    compare     two files, row by row
    panels      rows as what a chart shows
    ladders     one shape as a chapter shows it: shipped, or measured here

Read `model` first.
"""

from .model import Clocks, Gpu, Overhead, Results, Row
from .store import load, save, shipped

__all__ = ["Clocks", "Gpu", "Overhead", "Results", "Row", "load", "save", "shipped"]
