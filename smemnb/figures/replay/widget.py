"""What `replay` returns: text, a still picture, and the live replay where one can live.

Displayed, it is a bundle of three forms, of which a front end takes the best that it can show: the
widget's view (JupyterLab with a kernel), HTML with the picture (an untrusted notebook, GitHub,
nbconvert), and text. With `SMEMNB_STILL=1` in the environment the view is left out, as in
`figures.explorer`.

**Limits**: a saved view is lost with its kernel: `smemnb lab` saves the picture alone, another
JupyterLab says that there is no model, until the cell has run again.
"""

from __future__ import annotations

import os
from functools import cache, cached_property
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...errors import SmemnbError
from ..drawing import Drawing
from ..explorer.widget import INSTALL, VARIABLE, VIEW
from .film import Film
from .page import module_text, page, style_text
from .record import Run
from .state import state
from .still import still
from .words import left_out_of_film, text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Replay"]


class Replay:
    """A block of a launch, recorded: `print` it, display it in a notebook, or keep its `page()`.

    Attributes:
        runs: the recorded runs, first with all barriers, then without each of them.
        run: the one that is shown first.
        film: what the block does phase by phase with all barriers: parts, moves, buffers.
        notes: what was left out, in words.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        begin: int,
        function: Any,
        film: Film,
        notes: Sequence[str] = (),
    ) -> None:
        self.runs, self._begin, self.film = tuple(runs), begin, film
        self._function = function
        self.notes = (*notes, *left_out_of_film(film))

    @property
    def run(self) -> Run:
        """The run that is shown first."""
        return self.runs[self._begin]

    def without(self, line: int | None) -> Run:
        """The run without the barrier of a line; None for the one with all barriers.

        Raises:
            ValueError: there is no such run.
        """
        for run in self.runs:
            if run.without == line:
                return run
        known = ", ".join(str(run.without) for run in self.runs)
        raise ValueError(f"line={line!r}: no run is recorded without it; recorded are {known}")

    @cached_property
    def still(self) -> Drawing:
        """The picture of the run that is shown first: its arrays at the end of each phase."""
        return still(self.run, self.film)

    @cached_property
    def state(self) -> dict[str, Any]:
        """All runs as plain data, as the page gets them."""
        return state(self.runs, self._begin, self._function, self.film, self.notes)

    @cached_property
    def widget(self) -> Any:
        """The live replay, an anywidget.

        Raises:
            SmemnbError: anywidget is not installed.
        """
        if find_spec("anywidget") is None:
            raise SmemnbError(INSTALL)
        return _widget_class()(state=self.state)

    def page(self, title: str = "Replay") -> str:
        """A page of HTML that shows the same without a kernel and without a network."""
        return page(self.state, title=title, still=self.still._repr_html_())

    def __repr__(self) -> str:
        others = [run for run in self.runs if run is not self.run]
        return "\n".join([text(self.run, others, self.notes, self.film), *self._advice()])

    def _repr_html_(self) -> str:
        more = "".join(f"<p>{escape(line)}</p>" for line in self._advice())
        return f"<div>{self.still._repr_html_()}{more}</div>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """All forms; the view only where it can live and is wanted."""
        forms: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if not _still() and find_spec("anywidget") is not None:
            bundle = self.widget._repr_mimebundle_()
            data = bundle[0] if isinstance(bundle, tuple) else bundle
            if data and VIEW in data:
                forms[VIEW] = data[VIEW]
        return forms

    def _advice(self) -> list[str]:
        """What to install, where the replay can not live; no part of a stored output."""
        missing = not _still() and find_spec("anywidget") is None
        return [INSTALL] if missing else []


def _still() -> bool:
    """Whether only the still picture is wanted."""
    return os.environ.get(VARIABLE, "") not in ("", "0", "off")


@cache
def _widget_class() -> Any:
    """The widget's class; anywidget is imported when the first one is shown."""
    anywidget, traitlets = import_module("anywidget"), import_module("traitlets")
    parts = {
        "__module__": __name__,
        "_esm": module_text(),
        "_css": style_text(),
        "state": traitlets.Dict().tag(sync=True),
    }
    return type("ReplayWidget", (anywidget.AnyWidget,), parts)
