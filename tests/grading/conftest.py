import json

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Whoever grades has a progress file too, in a folder of the test's own."""
    monkeypatch.setenv("SMEMNB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SMEMNB_PROGRESS", raising=False)
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path):
    """A function that makes a folder of submissions out of {path: text or cells}."""
    top = tmp_path / "handed in"
    top.mkdir()

    def make(files):
        for name, content in files.items():
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else notebook(content)
            path.write_text(text, encoding="utf-8")
        return top

    return make


def notebook(cells):
    """A notebook with these code cells, and a cell of text before them."""
    code = [{"cell_type": "code", "source": text, "outputs": [], "metadata": {}} for text in cells]
    text = {"cell_type": "markdown", "source": 'check("ex00_bias", scale)', "metadata": {}}
    return json.dumps({"cells": [text, *code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
