"""Answers of the exercises as files that a learner could hand in."""

import importlib.util
import inspect
import re
import textwrap
from pathlib import Path

from smemnb.exercises.source import source_of


def chapter_text(exercise):
    """The constants, device functions and kernels of an exercise's file, as a learner's."""
    text = Path(inspect.getsourcefile(exercise.solution.py_func)).read_text(encoding="utf-8")
    text = text[: text.index("\nEXERCISE = ")].replace("from ...kernels", "from smemnb.kernels")
    text = text.replace("from ..exercise import", "from smemnb.exercises.exercise import")
    return re.sub(r"^from \.ex", "from smemnb.exercises.chapters.ex", text, flags=re.MULTILINE)


def file_of(exercise, kernel=None):
    """A file with the solution, or with another kernel under its name, and its check."""
    name = exercise.solution.py_func.__name__
    text = chapter_text(exercise)
    if kernel is not None:
        name = kernel.py_func.__name__
        text += f"\n\n{textwrap.dedent(source_of(kernel))}\n"
    return f'{text}\n\ncheck("{exercise.name}", {name})\n'


def imported(text, path):
    """The module that a text is, without its check, from a file of its own."""
    path.write_text(re.sub(r"^check\(.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
