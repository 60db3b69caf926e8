"""Switches the plugin on for this project."""

pytest_plugins = ["smemnb.testing"]
