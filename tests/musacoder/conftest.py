"""Shared by the tests of the commands."""

import pytest


@pytest.fixture(autouse=True)
def _no_width_of_a_terminal(monkeypatch):
    """What goes to a pipe is folded nowhere, unless COLUMNS asks for it: test runners set that."""
    monkeypatch.delenv("COLUMNS", raising=False)
