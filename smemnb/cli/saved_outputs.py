"""An extension of Jupyter's server: outputs that have a picture are saved without widgets' views.

A view names its widget by an id that only the kernel knows that made it. Opened again, JupyterLab
would look for the widget, find none, and write an error where the picture beside the view could
stand. `smemnb lab` loads the extension (`jupyter/jupyter_server_config.d`); in the open page the
live widget stays.

**Limits**: an output of a widget alone, without a picture, is saved as it is. A page that is loaded
again shows the picture until its cell has run again, also where the kernel still knows the widget.
"""

from __future__ import annotations

from typing import Any

VIEW = "application/vnd.jupyter.widget-view+json"
PICTURES = ("text/html", "image/svg+xml", "image/png", "image/jpeg")


def without_views(*, model: dict[str, Any], **_: Any) -> None:
    """Take the views that have a picture beside them out of a notebook that is to be saved.

    Args:
        model: what is to be saved, as Jupyter's contents manager has it; changed in place.
    """
    if model.get("type") != "notebook":
        return
    for cell in (model.get("content") or {}).get("cells", ()):
        for output in cell.get("outputs", ()):
            forms = output.get("data", {})
            if any(kind in forms for kind in PICTURES):
                forms.pop(VIEW, None)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """What Jupyter's server asks a module that it is to load."""
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Have the server call `without_views` before it saves; hooks of a learner's own stay."""
    server.contents_manager.register_pre_save_hook(without_views)
