"""Tests that need the real program skip where there is none, and fail where CI promises one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iobound.program import ProgramNotFound, find_program

DATA = Path(__file__).parent / "data"


def program() -> str:
    """The path of the program."""
    try:
        return os.fspath(find_program())
    except ProgramNotFound as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI has the program: {error}")
        pytest.skip(f"SKIPPED: {error}")
