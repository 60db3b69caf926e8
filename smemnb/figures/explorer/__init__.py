"""The explorer: one shared-memory request that a reader can turn, over the banks and in its tile.

    explore     what a notebook shows: of a trace, of a layout, or to begin with
    still       its picture where no script runs
    state       the same as plain data: where the explorer begins
    page        a page of HTML that needs no kernel and no network

In the browser it is one plain module of JavaScript, without a library and without a build step:
`bank_rule.js` counts, `layout.js` says where a tile keeps its elements, `expression.js` reads a
learner's own index, `request.js` puts these together, and `explorer.js` draws. The tests hold the
first three to `smemnb.rules` and to Python. In JupyterLab anywidget hands the state to it.

**Limits**: shared memory, one request at a time. What it counts is the model's.
"""

from .page import module_text, page, style_text
from .state import state
from .widget import Explorer, explore

__all__ = ["Explorer", "explore", "module_text", "page", "state", "style_text"]
