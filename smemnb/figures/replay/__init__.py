"""The replay: how a block stages, fills and reads its shared arrays, from barrier to barrier.

    recording   `replay`: which runs are made, what is refused
    barriers    the kernel without one of its barriers
    recorder    the watcher that listens to the engine
    record      what is kept of a run
    camera      a watcher that keeps less, for more phases
    staging     which element of a global array each store to shared memory brought
    film        the block phase by phase: parts that are touched, what moves where, buffers
    stale       which loads of a run saw another store than with all barriers
    words       a run as text
    still       its picture where no script runs
    state       the runs as plain data for the page
    page        a page of HTML that needs no kernel and no network
    widget      what a notebook shows

In the browser it is one plain module of JavaScript, `replay.js`, without a library and without a
build step; its colours are in `replay.css`. All that is shown was recorded: the page computes no
run of its own.

**Limits**: one block, its shared arrays and the part of global arrays that it touches.
"""

from .page import module_text, page, style_text
from .recording import replay
from .state import state
from .widget import Replay

__all__ = ["Replay", "module_text", "page", "replay", "state", "style_text"]
