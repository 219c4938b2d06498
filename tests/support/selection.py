"""Which parameters of a test file a run has selected: what is costly to judge is judged only where it is asked for."""

from typing import Any

import pytest


def selected(request: pytest.FixtureRequest, name: str) -> list[Any]:
    """The values of parameter `name` in the selected tests of the requesting file, each once, in order."""
    chosen: list[Any] = []
    for item in request.session.items:
        value = getattr(item, "callspec", None) and item.callspec.params.get(name)
        if item.path == request.path and value is not None and value not in chosen:
            chosen.append(value)
    return chosen
