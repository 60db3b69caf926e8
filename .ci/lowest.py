"""The lower bounds of pyproject.toml as pins, one per line: constraints for pip.

    python .ci/lowest.py > lowest.txt
    python -m pip install -e ".[lab,test]" -c lowest.txt

A requirement without a lower bound is an error: nothing would be promised of it. Packages that
these need in turn are taken as pip finds them.
"""

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("lab", "test", "cu13")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^\]]*\])?>=(?P<low>[\w.]+)(,|;|$)")


def lowest(project: dict) -> list[str]:
    """`name==version` for each requirement of the project and of the extras that are tested.

    >>> lowest({"dependencies": ["numpy>=2,<2.5", "numba-cuda[cu13]>=0.30.4; x == 'y'"]})
    ['numba-cuda==0.30.4', 'numpy==2']

    Raises:
        ValueError: a requirement has no lower bound, or a package has two.
    """
    found: dict[str, str] = {}
    extras = project.get("optional-dependencies", {})
    for line in [
        *project["dependencies"],
        *(one for name in EXTRAS for one in extras.get(name, ())),
    ]:
        match = REQUIREMENT.match(line.replace(" ", ""))
        if match is None:
            raise ValueError(f"{line!r} has no lower bound")
        name, low = match["name"], match["low"]
        if found.setdefault(name, low) != low:
            raise ValueError(f"{name} has two lower bounds: {found[name]} and {low}")
    return sorted(f"{name}=={low}" for name, low in found.items())


if __name__ == "__main__":
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    sys.stdout.write("\n".join(lowest(tomllib.loads(text)["project"])) + "\n")
