"""What a release says and does, as far as it can be known without building one.

`.ci/wheel` builds and opens one; workflows call it.
"""

import re
import runpy
import sys
import tomllib
from zipfile import ZipFile

import pytest

from smemnb.version import VERSION
from tests.house.notebook_form import ROOT, chapters

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
wrong_with = runpy.run_path(str(ROOT / ".ci" / "tagged.py"))["wrong_with"]
chapters_of = runpy.run_path(str(ROOT / ".ci" / "open_wheel.py"))["chapters_of"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def parsed(path):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_version_has_one_place():
    """The build reads smemnb/version.py; nothing else is asked for the version."""
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "smemnb/version.py"}
    assigned = re.compile(r"^(__version__|VERSION)\s*=\s*[\"']", re.MULTILINE)
    found = [path for path in ROOT.glob("smemnb/*.py") if assigned.search(path.read_text())]
    assert found == [ROOT / "smemnb" / "version.py"]


def test_what_repeats_the_version():
    """A tag of this version is refused for nothing but that the changes are not released yet."""
    said = wrong_with(f"v{VERSION}", VERSION, text("CITATION.cff"), text("CHANGELOG.md"))
    assert not [line for line in said if "unreleased" not in line]


@pytest.mark.parametrize(
    ("tag", "citation", "changelog", "named"),
    [
        ("v1.2.0", "version: 1.2.0", "# Changes\n\n## 1.2.0 (2026-01-31)\n\n## 1.1.0\n", []),
        ("v1.2.0", 'version: "1.2.0"', "## 1.2.0", []),
        ("1.2.0", "version: 1.2.0", "## 1.2.0", ["version.py"]),
        ("v1.2.1", "version: 1.2.0", "## 1.2.0", ["version.py"]),
        ("v1.2.0", "cff-version: 1.2.0", "## 1.2.0", ["CITATION.cff"]),
        ("v1.2.0", "version: 1.2.0", "## 1.3.0\n## 1.2.0", ["CHANGELOG.md"]),
        ("v1.2.0", "version: 1.2.0", "## 1.2.0 (unreleased)", ["CHANGELOG.md"]),
        ("v1.2", "version: 1.1.0", "", ["version.py", "CITATION.cff", "CHANGELOG.md"]),
    ],
)
def test_a_tag_is_compared(tag, citation, changelog, named):
    """Each file that does not fit is named."""
    said = wrong_with(tag, "1.2.0", citation, changelog)
    assert [re.search(r"\w+\.(py|cff|md)", line)[0] for line in said] == named


def test_workflows_name_what_is_there():
    """Scripts and modules that a workflow calls exist."""
    assert WORKFLOWS
    for path in WORKFLOWS:
        lines = [line.split("#")[0] for line in path.read_text(encoding="utf-8").splitlines()]
        for name in re.findall(r"(?<![\w/])(\.ci/[\w.]+|tests/[\w./]+)", "\n".join(lines)):
            assert (ROOT / name).exists(), f"{path.name}: {name}"
        for name in re.findall(r"-m ((?:tests|smemnb)[\w.]*)", "\n".join(lines)):
            module = ROOT.joinpath(*name.split("."))
            assert module.is_dir() or module.with_suffix(".py").is_file(), f"{path.name}: {name}"


def test_a_release_is_built_and_opened_first():
    """What is published has passed .ci/wheel, under a tag that is the version."""
    publish = parsed(ROOT / ".github" / "workflows" / "publish.yml")
    build, send = publish["jobs"]["build"], publish["jobs"]["publish"]
    commands = [step["run"] for step in build["steps"] if "run" in step]
    assert [command.split()[1] for command in commands] == [".ci/tagged.py", ".ci/wheel"]
    assert send["needs"] == "build"
    # trusted publishing: no secret, and the right to ask for a token in this job alone
    assert publish["permissions"] == {"contents": "read"} and "permissions" not in build
    assert send["permissions"] == {"id-token": "write"}
    assert "secrets." not in text(".github/workflows/publish.yml")
    assert publish[True]["push"] == {"tags": ["v*"]}  # YAML 1.1 reads `on` as true
    assert ".ci/wheel" not in text(".ci/run")
    assert "bash .ci/wheel" in text(".github/workflows/nightly.yml")


def test_the_chapters_of_a_wheel(tmp_path):
    """The script that opens a wheel compares its pages with the checkout's, one by one."""
    files = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert files["sources"] == {"notebooks": "smemnb/workbook"}
    pages = [*chapters(), ROOT / "GLOSSARY.md"]
    for left_out, changed in (([], False), (pages[:1], False), ([], True)):
        with ZipFile(tmp_path / "a.whl", "w") as wheel:
            for page in pages:
                data = page.read_bytes() + b" " * changed
                if page not in left_out:
                    wheel.writestr(f"smemnb/workbook/{page.name}", data)
        if left_out or changed:
            with pytest.raises(AssertionError):
                chapters_of(tmp_path / "a.whl", ROOT)
        else:
            found = chapters_of(tmp_path / "a.whl", ROOT)
            assert sorted(found) == sorted(page.name for page in chapters())


def test_what_is_packed_is_there():
    """Each entry of the sdist's list names something, and what tests read is among them."""
    listed = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert not [entry for entry in listed if not list(ROOT.glob(entry))]
    assert {"CITATION.cff", ".github", ".ci", "tests"} <= set(listed)
    for name in PROJECT["project"]["license-files"]:
        assert (ROOT / name).is_file()


def test_citation():
    """CITATION.cff has what its schema asks for, and the licences of the package."""
    cited = parsed(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["version"] == VERSION
    assert " AND ".join(cited["license"]) == PROJECT["project"]["license"]
    assert all(author.get("name") or author.get("family-names") for author in cited["authors"])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms(path):
    """A form has what GitHub asks for; other files of the folder are its configuration."""
    form = parsed(path)
    if path.stem == "config":
        assert set(form) <= {"blank_issues_enabled", "contact_links"}
        return
    assert form["name"] and form["description"] and form["body"]
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert {part["type"] for part in fields} <= {"input", "textarea", "dropdown", "checkboxes"}
    ids = [part["id"] for part in fields]
    assert len(set(ids)) == len(ids)
    assert all(part["attributes"]["label"] for part in fields)
    assert any(part.get("validations", {}).get("required") for part in fields)


def test_there_are_forms():
    """A bug, a wrong count, a question about a chapter."""
    assert {path.stem for path in FORMS} >= {"bug", "wrong_count", "chapter"}


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files are POSIX's")
def test_scripts_can_be_run():
    """The shell scripts of .ci may be executed."""
    for name in ("run", "wheel"):
        assert (ROOT / ".ci" / name).stat().st_mode & 0o111
