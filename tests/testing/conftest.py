"""The example project is run by a test, as a project of its own."""

collect_ignore = ["example_project"]
