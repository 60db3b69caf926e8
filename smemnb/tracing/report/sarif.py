"""Findings as SARIF 2.1.0, which code hosts and editors read.

One rule per kind of finding, one result per finding: its line, the other line as a related
location, and a fingerprint that stays when lines move. A waived finding is a suppressed result
with its reason; where a run has one, all its other results say that they are not.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..findings import KINDS
from .places import PlacedFinding, from_root

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"


def sarif(findings: Iterable[PlacedFinding], root: Path, version: str = "") -> str:
    """The SARIF file's text; paths below `root` are relative to it.

    `version` is that of smemnb; empty, it is looked up.
    """
    kept = list(findings)
    kinds = sorted({one.finding.kind for one in kept})
    driver = {
        "name": "smemnb",
        "semanticVersion": version or _version(),
        "rules": [_rule(kind) for kind in kinds],
    }
    some = any(one.waived for one in kept)
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {ROOT: {"uri": root.resolve().as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, kinds, root) | _suppressed(one, some) for one in kept],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(kind: str) -> dict[str, Any]:
    return {
        "id": f"smemnb/{kind}",
        "name": "".join(word.capitalize() for word in kind.split("_")),
        "shortDescription": {"text": kind.replace("_", " ")},
        "defaultConfiguration": {"level": KINDS[kind].severity},
    }


def _result(one: PlacedFinding, kinds: Sequence[str], root: Path) -> dict[str, Any]:
    found = one.finding
    result: dict[str, Any] = {
        "ruleId": f"smemnb/{found.kind}",
        "ruleIndex": kinds.index(found.kind),
        "level": found.severity,
        "message": {"text": one.message},
        "locations": [_location(one.file, found.line, found.source, root)],
        "partialFingerprints": {"smemnb/v1": _fingerprint(one)},
        "properties": {"count": found.count, "unit": found.unit, "launch": one.launch},
    }
    if found.other_line is not None:
        other = _location(one.other_file, found.other_line, found.other_source or "", root)
        other |= {"id": 1, "message": {"text": "the other line"}}
        result["relatedLocations"] = [other]
    return result


def _suppressed(one: PlacedFinding, some: bool) -> dict[str, Any]:
    """Why a result is suppressed; nothing where no result of the run is."""
    if not some:
        return {}
    if not one.waived:
        return {"suppressions": []}
    kind = "inSource" if one.in_source else "external"
    return {"suppressions": [{"kind": kind, "justification": one.waived}]}


def _location(file: str, line: int, source: str, root: Path) -> dict[str, Any]:
    inside = from_root(file, root) if file else None
    if inside is not None:
        artifact = {"uri": inside, "uriBaseId": ROOT}
    else:
        artifact = {"uri": Path(file).resolve().as_uri() if file else "unknown"}
    region = {"startLine": line, "snippet": {"text": source}}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _fingerprint(one: PlacedFinding) -> str:
    """The same for the same finding after lines above it moved."""
    found = one.finding
    parts = (found.kind, found.function, found.source, found.other_source, found.array)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("smemnb")
    except PackageNotFoundError:  # run from a source tree
        return "0"
