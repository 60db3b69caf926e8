"""Parts of a recording: each item once, and what the parts wrote as one."""

import json

import pytest

from smemnb.errors import SmemnbError
from smemnb.laboratory import in_parts


def test_every_item_is_in_one_part():
    items = list(range(20))
    parts = [in_parts.part(f"{number}/3", items) for number in (1, 2, 3)]
    assert sorted(one for each in parts for one in each) == items
    assert [len(each) for each in parts] == [7, 7, 6]


@pytest.mark.parametrize("share", ["0/3", "4/3", "3", "a/3", "1/"])
def test_a_part_that_is_none(share):
    with pytest.raises(SmemnbError, match="wanted is a number of as many"):
        in_parts.part(share, [1])


def test_merged(tmp_path):
    """Entries of all files; what else they say is the last one's."""
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    one.write_text(json.dumps({"date": 1, "kernels": {"a": 1}, "waits": {}}))
    two.write_text(json.dumps({"date": 2, "kernels": {"b": 2}}))
    found = in_parts.merged([one, two], ("kernels", "waits"))
    assert found == {"date": 2, "kernels": {"a": 1, "b": 2}, "waits": {}}
    two.write_text("[]")
    with pytest.raises(SmemnbError, match=r"2\.json cannot be merged"):
        in_parts.merged([one, two], ("kernels",))
    with pytest.raises(SmemnbError, match="no files"):
        in_parts.merged([], ("kernels",))


def test_held(tmp_path):
    """The file is there afterwards, and can be held again."""
    with in_parts.held(tmp_path / "lock"):
        pass
    with in_parts.held(tmp_path / "lock"), in_parts.held(None):
        assert (tmp_path / "lock").exists()
