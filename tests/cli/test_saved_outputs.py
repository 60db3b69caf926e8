"""What Jupyter's server saves of an output that has a widget's view."""

import copy

import pytest

from smemnb.cli.saved_outputs import VIEW, without_views


def notebook(*outputs):
    """What the contents manager hands over: a notebook of a text and a code cell."""
    cells = [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": list(outputs)}]
    return {"type": "notebook", "content": {"nbformat": 4, "cells": cells}}


def displayed(**forms):
    return {"output_type": "display_data", "data": forms}


@pytest.mark.parametrize(
    ("forms", "kept"),
    [
        (("text/plain", "text/html", VIEW), ["text/plain", "text/html"]),
        (("image/png", VIEW), ["image/png"]),
        (("text/plain", VIEW), ["text/plain", VIEW]),
        (("text/plain", "text/html"), ["text/plain", "text/html"]),
    ],
    ids=["html", "png", "no picture", "no view"],
)
def test_view_goes_where_a_picture_stays(forms, kept):
    """A view goes if something beside it can be shown; a widget alone is saved as it is."""
    model = notebook(displayed(**dict.fromkeys(forms, "")))
    without_views(model=model, path="a.ipynb", contents_manager=None)
    assert list(model["content"]["cells"][1]["outputs"][0]["data"]) == kept


@pytest.mark.parametrize(
    "model",
    [
        {"type": "file", "content": "text"},
        {"type": "notebook", "content": None},
        {"type": "notebook", "content": {"nbformat": 3, "worksheets": []}},
        notebook({"output_type": "stream", "name": "stdout", "text": "1"}),
    ],
    ids=["file", "no content", "old form", "stream"],
)
def test_all_else_is_saved_as_it_is(model):
    """Files, notebooks of an old form and outputs of other kinds are not touched."""
    before = copy.deepcopy(model)
    without_views(model=model)
    assert model == before
