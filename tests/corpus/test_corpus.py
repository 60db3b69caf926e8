"""Every mistake of the corpus is found, and nothing is found in its clean twin.

The kernels are in the manner of real code; their findings were worked out by hand.
"""

from __future__ import annotations

import functools

import pytest

from smemnb import trace
from smemnb.tracing.findings import KINDS
from tests.corpus import (  # noqa: F401
    copies,
    local_arrays,
    memory,
    order,
    prices,
    races_global,
    races_rows,
    races_shared,
    threads,
    tiles,
)
from tests.corpus.pairs import PAIRS, Pair

NOT_YET: dict[str, str] = {}
"""Names of pairs whose detector is not there yet, and what is missing."""


@functools.cache
def findings(kernel, pair: Pair):
    """The findings of one side of a pair."""
    return trace(kernel)[pair.launch](*pair.args()).findings


def caught(pair: Pair) -> bool:
    """A finding of the kind, at the marked lines, with the count worked out by hand."""
    for found in findings(pair.buggy, pair):
        lines = sorted(line for line in (found.line, found.other_line) if line is not None)
        if (found.kind, tuple(lines), found.count) == (pair.kind, pair.lines, pair.count):
            return True
    return False


def false_alarms(pair: Pair) -> list[str]:
    """Errors and warnings of the clean twin, and its findings of the very kind."""
    return [
        f"{pair.clean.__name__}: {found}"
        for found in findings(pair.clean, pair)
        if found.severity != "note" or found.kind == pair.kind
    ]


def _marked(pair: Pair):
    reason = NOT_YET.get(pair.name)
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(pair, id=pair.name, marks=marks)


@pytest.mark.first(5)
@pytest.mark.parametrize("pair", [_marked(pair) for pair in PAIRS])
def test_pair(pair):
    """The mistake is found where it is, as often as it is; the twin is clean."""
    seen = [
        (found.kind, found.line, found.other_line, found.count)
        for found in findings(pair.buggy, pair)
    ]
    assert caught(pair), f"expected {pair.kind} {pair.lines} {pair.count}, found {seen}"
    assert false_alarms(pair) == []


def test_every_kind():
    """Each kind of finding about a launch has a pair."""
    assert {pair.kind for pair in PAIRS} == {
        kind.name for kind in KINDS.values() if not kind.of_source
    }


def test_table(capsys):
    """Caught, missed, false alarms over the whole corpus: at least 60, 0, 0."""
    known = [pair for pair in PAIRS if pair.name not in NOT_YET]
    missed = [pair.name for pair in known if not caught(pair)]
    alarms = [said for pair in known for said in false_alarms(pair)]
    kinds = sorted({pair.kind for pair in PAIRS})
    with capsys.disabled():
        print(f"\n{'kind':24}pairs")
        for kind in kinds:
            print(f"{kind:24}{sum(pair.kind == kind for pair in PAIRS):5}")
        print(
            f"caught {len(known) - len(missed)}, missed {len(missed)}, false alarms {len(alarms)}"
        )
    assert (len(known) >= 60, missed, alarms) == (True, [], [])
