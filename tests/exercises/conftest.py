import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Every test has a learner's folder of its own."""
    monkeypatch.setenv("SMEMNB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SMEMNB_PROGRESS", raising=False)
    return tmp_path / "home"
