"""`explore`: the explorer in a notebook, and a still picture wherever no script runs.

Displayed, it is a bundle of three forms, of which a front end takes the best that it can show: the
widget's view (JupyterLab with a kernel), HTML with the picture (an untrusted notebook, GitHub,
nbconvert), and text. With `SMEMNB_STILL=1` in the environment, as the tests and the tool that
stores chapters have it, the view is left out: its id is another one in each run.

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
from ...rules import layout as layouts
from ...rules.layout import Layout
from ..drawing import Drawing
from ..service import service
from ..tile import tile_map
from ..words import counted
from .page import module_text, page, style_text
from .state import Explored, column, state
from .still import flight

if TYPE_CHECKING:
    from .state import State

__all__ = ["INSTALL", "VIEW", "Explorer", "explore"]

VIEW = "application/vnd.jupyter.widget-view+json"
INSTALL = 'to move it, install anywidget: pip install "smemnb[lab]"'
VARIABLE = "SMEMNB_STILL"


def explore(
    given: Explored = None, *, line: int | None = None, array: str | None = None
) -> Explorer:
    """Lanes on their way to the banks, to be turned and stepped through in a notebook.

        smemnb.explore()                              a tile of 32 x 32, read down a column
        smemnb.explore(Padded(32, 32))                any layout of rules.layout
        smemnb.explore(trace(kernel)[1, 32](out))     the requests of a kernel, line by line

    `page()` of what comes back is a page of HTML that needs no notebook, no kernel and no network:
    `Path("banks.html").write_text(explore(report).page(), "utf-8")`.

    Args:
        given: a trace; rows of its `lines`; `trace.bank_map(line)`; a layout; None to begin with.
        line: of a trace, the source line to begin with; None for the one with the most extra
            wavefronts.
        array: which array, where the line touches several.

    Raises:
        TypeError: something that is none of these.
        SmemnbError: there is no shared-memory request that the model counts.
    """
    layout = given if isinstance(given, Layout) else None
    return Explorer(state(given, line=line, array=array), layout)


class Explorer:
    """What `explore` returns: display it, or keep it as a page of HTML with `page()`.

    `state` is where it begins, `stills` are its pictures.
    """

    def __init__(self, state: State, layout: Layout | None = None) -> None:
        self.state = state
        self._layout = layout or layouts.RowMajor(32, 32)

    @cached_property
    def stills(self) -> tuple[Drawing, ...]:
        """The request that is shown first, and of a layout its tile."""
        if self.state["lines"]:
            here = self.state["lines"][self.state["line"]]
            request = here["requests"][self.state["request"]]
            block = ", ".join(map(str, request["block"]))
            title = f"{here['label']}: block ({block}), warp {request['warp']}"
            served = service(
                request["address"],
                width=here["width"],
                active=request["active"],
                kind=here["kind"],
            )
            return (flight(served, title),)
        address, active = column(self._layout)
        served = service(address, width=self._layout.itemsize, active=active)
        drawn = flight(served, "a warp reads column 0")
        return drawn, tile_map(self._layout, highlight=("column", 0))

    @cached_property
    def widget(self) -> Any:
        """The live explorer, an anywidget.

        Raises:
            SmemnbError: anywidget is not installed.
        """
        if find_spec("anywidget") is None:
            raise SmemnbError(INSTALL)
        return _widget_class()(state=self.state)

    def page(self, title: str = "Bank explorer") -> str:
        """A page of HTML that shows the same without a kernel and without a network."""
        return page(self.state, title=title, still=self._pictures())

    def __repr__(self) -> str:
        """What the still pictures say, in words, and the lines of a trace."""
        said = [self.stills[0].text]
        for one in self.state["lines"]:
            made = counted(one["made"], "request")
            taken = counted(one["wavefronts"], "wavefront")
            said.append(f"{one['label']}: {made}, {taken}, {one['extra']} extra (model)")
        said += [*self.state["notes"], *self._advice()]
        return "\n".join(said)

    def _repr_html_(self) -> str:
        more = "".join(f"<p>{escape(line)}</p>" for line in self._advice())
        return f"<div>{self._pictures()}{more}</div>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """All forms; the view only where it can live and is wanted."""
        forms: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if not _still() and find_spec("anywidget") is not None:
            bundle = self.widget._repr_mimebundle_()
            data = bundle[0] if isinstance(bundle, tuple) else bundle
            if data and VIEW in data:
                forms[VIEW] = data[VIEW]
        return forms

    def _pictures(self) -> str:
        return "<br>".join(drawn._repr_html_() for drawn in self.stills)

    def _advice(self) -> list[str]:
        """What to install, where the explorer can not live; no part of a stored output."""
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
    return type("ExplorerWidget", (anywidget.AnyWidget,), parts)
