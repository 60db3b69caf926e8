"""What a learner has done, in one JSON file of theirs.

The file is `progress.json` in the user's data folder, or in the folder that SMEMNB_HOME names;
SMEMNB_PROGRESS=off (CI, nbval) neither reads nor writes it. Two notebooks may check at the
same time: each takes a lock, reads the file again, merges its news and replaces the file in one
step, so that a reader never meets half a file. What is stored only grows (done stays done).

A file that cannot be read is moved aside, one of a newer smemnb is left as it is; neither is ever
overwritten. Where `progress.json` is a symbolic link, all of this happens to the file that it leads
to. No failure here breaks a verdict: `remember` says what went wrong and returns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from .filelock import locked
from .home import file, folder
from .registry import exercises
from .whole_file import is_plain, leftovers, write_whole

SCHEMA = 1
OFF = "progress is not recorded here (SMEMNB_PROGRESS=off)"

State = dict[str, dict[str, Any]]
"""Per exercise: done (bool), checks (how many), hints (highest level seen), and once there was one,
forecast: lines right at first try, and of how many."""


class Unusable(Exception):
    """The file is not used; the message says why, without its path."""


@dataclass(frozen=True, repr=False)
class Progress:
    """Which exercises are done, chapter by chapter; a table as text.

    `forecasts` says of exercises with a forecast how it went at first try.
    """

    done: tuple[str, ...]
    open: tuple[str, ...]
    text: str
    note: str = ""
    forecasts: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from .as_html import chapters

        listed: dict[str, list[tuple[str, str, bool]]] = {}
        for one in exercises():
            title = "; ".join(filter(None, (one.title, self.forecasts.get(one.name))))
            found = one.name, title, one.name in self.done
            listed.setdefault(one.chapter, []).append(found)
        rows = [(chapter, f"{chapter}.ipynb", found) for chapter, found in listed.items()]
        title = self.text.partition("\n")[0]
        return chapters(title, rows, self.note)


def progress() -> Progress:
    """List the chapters with their exercises, and which of these are done."""
    state, note = _looked_up()
    done = tuple(e.name for e in exercises() if state.get(e.name, {}).get("done"))
    first = {
        e.name: _said(score) for e in exercises() if (score := _first_try(state.get(e.name, {})))
    }
    rows = [f"{len(done)} of {len(exercises())} exercises done"]
    chapter = ""
    width = max(len(e.name) for e in exercises())
    for exercise in exercises():
        if exercise.chapter != chapter:
            chapter = exercise.chapter
            rows.append(chapter)
        mark = "done" if exercise.name in done else "open"
        rows.append(f"  {mark}  {exercise.name:<{width}}  {exercise.title}")
        if exercise.name in first:
            rows[-1] += f"; {first[exercise.name]}"
    rows += [note] if note else []
    still = tuple(e.name for e in exercises() if e.name not in done)
    return Progress(done, still, "\n".join(rows), note, first)


def _said(score: tuple[int, int]) -> str:
    return f"forecast {score[0]} of {score[1]} at first try"


def remember(
    name: str,
    *,
    done: bool = False,
    checks: int = 0,
    hints: int = 0,
    forecast: tuple[int, int] | None = None,
) -> str:
    """Record news of one exercise; return why that failed, "" if it did not.

    Args:
        name: of the exercise.
        done: whether it is solved now.
        checks: how many there were.
        hints: the highest level that was seen.
        forecast: lines right at first try, and of how many; the first one that comes is kept.
    """
    if off():
        return ""
    try:
        with _changed() as (state, aside):
            entry = state.setdefault(name, {})
            entry["done"] = bool(entry.get("done")) or done
            entry["checks"] = _count(entry, "checks") + checks
            entry["hints"] = max(_count(entry, "hints"), hints)
            if forecast is not None and _first_try(entry) is None:
                entry["forecast"] = {"right": forecast[0], "of": forecast[1]}
    except Unusable as reason:
        return f"not recorded: {reason}"
    except OSError as error:
        return f"not recorded: {error.strerror or type(error).__name__} (progress.json)"
    except RuntimeError:  # pathlib finds no home folder
        return "not recorded: no folder for it; set SMEMNB_HOME to one"
    return (
        f"progress.json was damaged: it is kept as {aside}, and a new one is begun" if aside else ""
    )


def first_try_of(name: str) -> tuple[int, int] | None:
    """How many lines of an exercise were forecast right at first try, and of how many."""
    return _first_try(_looked_up()[0].get(name, {}))


def _first_try(entry: dict[str, Any]) -> tuple[int, int] | None:
    kept = entry.get("forecast")
    if not isinstance(kept, dict):
        return None
    right, of = kept.get("right"), kept.get("of")
    return (right, of) if isinstance(right, int) and isinstance(of, int) else None


def off() -> bool:
    """Whether SMEMNB_PROGRESS asks for no record at all."""
    return os.environ.get("SMEMNB_PROGRESS", "").strip().lower() in ("off", "0", "no", "false")


def _looked_up() -> tuple[State, str]:
    if off():
        return {}, OFF
    try:
        return _read(), ""
    except Unusable as reason:
        return {}, str(reason)
    except (OSError, RuntimeError) as error:
        return {}, f"progress.json cannot be read: {getattr(error, 'strerror', '') or error}"


def _count(entry: dict[str, Any], key: str) -> int:
    value = entry.get(key, 0)
    return value if isinstance(value, int) else 0


@contextmanager
def _changed() -> Iterator[tuple[State, str]]:
    """Hand out the state to be changed, and the new name of a damaged file ("" if none)."""
    folder().mkdir(parents=True, exist_ok=True)
    with locked(file().resolve().with_name("progress.lock")):
        _clear_up()
        state, aside = _read_or_begun()
        yield state, aside
        _write(state)


def _clear_up() -> None:
    """Delete what killed writers have left: nobody writes now, the lock is ours."""
    of_earlier_versions = file().resolve().parent.glob("progress.*.tmp")
    for left in (*leftovers(file()), *of_earlier_versions):
        with suppress(OSError):
            left.unlink()


def _read_or_begun() -> tuple[State, str]:
    try:
        return _read(), ""
    except _DamagedFile:
        return {}, _set_aside()


class _DamagedFile(Unusable):
    """The file is not one that smemnb wrote."""


def _read() -> State:
    try:
        if not is_plain(file()):
            raise Unusable("progress.json is no plain file (a folder, a named pipe or a device)")
        stored = json.loads(file().read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise _DamagedFile("progress.json is damaged; the next check moves it aside") from error
    schema = stored.get("schema") if isinstance(stored, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise Unusable(
            f"progress.json was written by a newer smemnb (schema {schema}, known here: "
            f"{SCHEMA}) and is left as it is; update smemnb"
        )
    state = stored.get("exercises") if schema == SCHEMA else None
    if not isinstance(state, dict) or not all(isinstance(v, dict) for v in state.values()):
        raise _DamagedFile("progress.json is damaged; the next check moves it aside")
    return state


def _set_aside() -> str:
    damaged, number = file().resolve(), 1
    while (target := damaged.with_name(f"progress.damaged-{number}.json")).exists():
        number += 1
    damaged.rename(target)
    return target.name


def _write(state: State) -> None:
    text = json.dumps({"schema": SCHEMA, "exercises": state}, indent=1, sort_keys=True) + "\n"
    write_whole(file(), text.encode(), mode=0o600)
