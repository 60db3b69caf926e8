"""Changes that no test can see, with the reason, by `Fault.key`."""

EQUIVALENTS: dict[str, str] = {}
