"""The version of this package: pyproject.toml and `smemnb --version` read it here."""

VERSION = "0.1.0"
