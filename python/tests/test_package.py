"""What an installation brings."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata, resources

import iobound
from conftest import PROGRAM


def test_versions_agree() -> None:
    assert iobound.__version__ == metadata.version("iobound")
    out = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
    assert out.split() == ["iobound", iobound.__version__]


def test_the_program_is_itself_and_no_script() -> None:
    # It runs itself again in other roles, by the path of its own process.
    assert PROGRAM.read_bytes()[:4] == b"\x7fELF"


def test_it_is_typed_and_says_what_it_exports() -> None:
    assert resources.files("iobound").joinpath("py.typed").is_file()
    missing = [name for name in iobound.__all__ if not hasattr(iobound, name)]
    assert missing == []


def test_importing_starts_nothing() -> None:
    script = "import sys, threading, iobound; print(threading.active_count(), 'numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert out.split() == ["1", "False"]


def test_it_has_every_name_that_takes_dgen_pys_place() -> None:
    names = """Generator StreamingGenerator BytesView BufferPool generate_buffer generate_data fill_buffer
    generate_into_buffer create_bytearrays get_numa_info get_system_info""".split()
    assert [name for name in names if name not in iobound.__all__] == []
