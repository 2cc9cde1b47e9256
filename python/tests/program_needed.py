"""Tests that need the real program or a library skip where there is none, and fail in CI, which has
them all."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

from iobound.program import ProgramNotFound, find_program

#: Records that the real program wrote; see capture.py.
DATA = Path(__file__).parent / "data"


def program() -> str:
    """The path of the program."""
    try:
        return os.fspath(find_program())
    except ProgramNotFound as error:
        _without(str(error))


def library(name: str) -> Any:
    """An optional library."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        _without(str(error))


def _without(why: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI has all that tests need: {why}")
    pytest.skip(f"SKIPPED: {why}")
