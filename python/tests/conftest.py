"""Fixtures of the suite. It runs against the installed package, not the source tree."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

#: The program that came with the package.
PROGRAM = Path(sys.executable).parent / "iobound"


@pytest.fixture
def stream_of(tmp_path: Path) -> Callable[..., bytes]:
    """What the program itself writes, given options."""

    def make(size: int, *options: object) -> bytes:
        path = tmp_path / "stream.bin"
        command = [PROGRAM, "stream", "-s", size, "-o", path, "--no-direct", "--overwrite", "--quiet"]
        words = [str(word) for word in [*command, "--out", tmp_path / "out", *options]]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=tmp_path)
        content = path.read_bytes()
        path.unlink()
        return content

    return make
