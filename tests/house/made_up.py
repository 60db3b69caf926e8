"""A small chapter that keeps every rule, for tests to break one rule at a time."""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

HEAD = """# Banks

**You will**

- count wavefronts
- find a conflict
- mend it

**Needs** no GPU. **Before** chapter 01. 20 minutes."""
BREAK = "## Try to break it\n\n- a pad of 2\n- a pad of 31"
CLOSING = "## Now you can\n\n- count\n- find\n- mend\n\n**Next** 30_tiles"
KERNEL = """@cuda.jit
def copy(out, inp):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = inp[i]"""
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er"
    "kJggg=="
)


def chapter() -> NotebookNode:
    """A notebook of 30 cells as the storing tool would leave it."""
    cells = [new_markdown_cell(HEAD), new_code_cell("import numpy as np\nfrom numba import cuda")]
    cells += [new_markdown_cell("A kernel."), new_code_cell(KERNEL)]
    for n in range(12):
        cells += [new_markdown_cell(f"The product is {n}."), new_code_cell(f"print({n} * 1)")]
    cells += [new_markdown_cell(BREAK), new_markdown_cell(CLOSING)]
    book = new_notebook(cells=cells)
    for n, cell in enumerate(cells):
        cell.id = f"cell-{n}"
    code = [cell for cell in cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
    for n, cell in enumerate(code[2:]):
        cell.outputs = [new_output("stream", name="stdout", text=f"{n}\n")]
    return nbformat.from_dict(book)


def picture(alt: str) -> NotebookNode:
    """A display of one pixel, with this alt text in the metadata (none if empty)."""
    metadata = {"image/png": {"alt": alt}} if alt else {}
    data = {"image/png": PIXEL, "text/plain": "<Figure size 1x1 with 1 Axes>"}
    return new_output("display_data", data=data, metadata=metadata)
