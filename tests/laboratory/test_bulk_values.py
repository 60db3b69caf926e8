"""What bulk copies and wgmma do, beside the rules: the engine, and how a difference is told."""

import json
from itertools import islice

import numpy as np
import pytest

from smemnb.laboratory import bulk_values
from smemnb.laboratory.bulk_values import LAYOUTS, loads, main, multiplied, stores


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", [loads, stores])
def test_boxes(part):
    """The engine does what the rule says, one box of each swizzle."""
    found = list(islice(part(), 0, None, 6))
    assert len(found) == 4
    assert [(one.elements, one.different) for one in found] == [(found[0].elements, 0)] * 4


@pytest.mark.parametrize("lies", [LAYOUTS[1], LAYOUTS[6]])
def test_products(lies):
    """And so it does with a matrix that has no swizzle, and with a turned one."""
    assert multiplied(64, "bf16", LAYOUTS[4], lies, 6)[1:] == (64 * 64, 0)


def test_differences_are_counted(monkeypatch, tmp_path, capsys):
    """A rule that swizzles otherwise differs, and the file says in how many bytes."""
    monkeypatch.setattr(bulk_values, "CORNERS", ((0, 0),))
    monkeypatch.setattr(bulk_values, "swizzled", lambda address, span: np.asarray(address))
    monkeypatch.setattr(bulk_values, "PARTS", {"loads": lambda: loads(((0, 0),))})
    main([str(tmp_path / "found.json"), "loads"])
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [one["different"] > 0 for one in found] == [False, True, True, True]
    assert "3 with differences" in capsys.readouterr().out
