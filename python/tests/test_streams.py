"""Whole files, written and read in process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import iobound

MIB = 1 << 20
SIZE = 20 * MIB + 777


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.bin"


def test_write_then_read(path: Path) -> None:
    stats = iobound.write_file(path, SIZE, seed=11, read_back=True, direct=False)
    assert (stats.path, stats.bytes, stats.seed, stats.direct) == (str(path), SIZE, 11, False)
    assert stats.verified is True and stats.differences == ()
    assert stats.gb_per_s == pytest.approx(SIZE / stats.seconds / 1e9)
    assert 0 < stats.latency_ns["p50"] <= stats.latency_ns["p99"] <= stats.latency_ns["max"]
    assert stats.record["scenarios"][0]["stream"]["size_bytes"] == SIZE
    assert stats.bottleneck
    assert path.read_bytes() == iobound.Generator(SIZE, seed=11).get_chunk(SIZE)

    known = iobound.read_file(path, seed=11, direct=False)
    assert (known.bytes, known.verified, known.differences) == (SIZE, True, ())
    unknown = iobound.read_file(path, direct=False, max_threads=1)
    assert (unknown.bytes, unknown.verified, unknown.seed) == (SIZE, None, None)
    assert unknown.bytes_per_second > 0
    part = iobound.read_file(path, seed=11, size="10MiB", direct=False)
    assert (part.bytes, part.verified) == (10 * MIB, True)


def test_options_reach_the_stream(path: Path) -> None:
    stats = iobound.write_file(
        path, "6MiB", seed=1, dedup_ratio=2.0, compress_ratio=2.0, buffer_size="64KB", buffer_count=8,
        num_writers=2, depth=3, mode="split", direct=False, numa_mode="disabled", max_threads=2,
    )  # fmt: skip
    settings = stats.record["scenarios"][0]["stream"]["settings"]
    wanted = {"mode": "split", "buffer_bytes": 65536, "buffers": 8, "writers": 2, "producers": 2, "depth": 3}
    assert settings == wanted
    assert iobound.read_file(path, seed=1, dedup_ratio=2.0, compress_ratio=2.0, direct=False).verified
    assert not iobound.read_file(path, seed=1, direct=False).verified


def test_direct_is_the_default_and_never_silently_given_up(path: Path) -> None:
    try:
        stats = iobound.write_file(path, SIZE)
    except iobound.BadUsage as refused:
        # Not every file system can; then it says so, in Python's words.
        assert "direct=False" in str(refused) and not path.exists()
        return
    assert stats.direct and stats.bytes == SIZE
    assert iobound.read_file(path, seed=stats.seed).verified


def test_differences_are_told(path: Path) -> None:
    iobound.write_file(path, SIZE, seed=3, direct=False)
    with path.open("r+b") as file:
        file.seek(5 * MIB + 10)
        file.write(b"\0\0\0\0\0\0\0\0\0\0\0\0")
    found = iobound.read_file(path, seed=3, direct=False)
    assert found.verified is False and found.bytes == SIZE
    assert str(5 * MIB + 10) in found.differences[0]
    assert iobound.read_file(path, seed=4, direct=False).verified is False


def test_null_takes_everything() -> None:
    stats = iobound.write_file("null:", "1GiB")
    assert stats.bytes == 1 << 30 and stats.gb_per_s > 0.1


def test_what_exists_is_protected(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(iobound.Refused, match="overwrite") as refused:
        iobound.write_file(path, SIZE, direct=False)
    assert isinstance(refused.value, PermissionError) and "--" not in str(refused.value)
    assert path.read_bytes() == b"precious"
    assert iobound.write_file(path, SIZE, direct=False, overwrite=True).bytes == SIZE


BAD_WRITES = [
    ({"size": 0}, ValueError, "size 0"),
    ({"size": -5}, ValueError, "-5"),
    ({"size": "much"}, ValueError, "much"),
    ({"size": None}, TypeError, "a size is"),
    ({"size": 2**63}, ValueError, "no file can be this long"),
    ({"size": "100000TB"}, ValueError, "is free on that file system"),
    ({"buffer_size": 5000}, ValueError, "buffer_size 5000 .* nearest are 4096 and 8192"),
    ({"buffer_count": 2, "num_writers": 3}, ValueError, "buffer_count 2 is fewer than num_writers 3"),
    ({"num_writers": 65}, ValueError, "num_writers 65: use 1 to 64"),
    ({"depth": 0}, ValueError, "depth 0"),
    ({"mode": "other"}, ValueError, "Invalid mode 'other'"),
    ({"numa_mode": "never"}, ValueError, "Invalid numa_mode"),
    ({"compress_ratio": 0.5}, ValueError, "compress_ratio 0.5 is below 1"),
    ({"dedup_ratio": float("nan")}, ValueError, "dedup_ratio NaN"),
    ({"max_threads": 0}, ValueError, "max_threads 0"),
]


@pytest.mark.parametrize("bad", BAD_WRITES, ids=lambda bad: str(bad[0]))
def test_bad_writes_leave_nothing(path: Path, bad: tuple[dict[str, object], type[Exception], str]) -> None:
    options, error, words = bad
    with pytest.raises(error, match=words):
        iobound.write_file(path, **{"size": SIZE, "direct": False, **options})  # type: ignore[arg-type]
    assert list(path.parent.iterdir()) == []


def test_places_that_take_no_file(path: Path) -> None:
    with pytest.raises(iobound.Error):
        iobound.write_file(path.parent, SIZE, direct=False)
    with pytest.raises(iobound.Error):
        iobound.write_file(path / "below" / "nothing", SIZE, direct=False)
    assert list(path.parent.iterdir()) == []


def test_bad_reads(path: Path) -> None:
    with pytest.raises(iobound.BadUsage, match="no such file"):
        iobound.read_file(path)
    with pytest.raises(iobound.Error):
        iobound.read_file(path.parent)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="nothing to read"):
        iobound.read_file(path, direct=False)
    path.write_bytes(b"1234")
    with pytest.raises(ValueError, match="has 4 bytes"):
        iobound.read_file(path, size=5, direct=False)
    with pytest.raises(ValueError, match="compress_ratio"):
        iobound.read_file(path, seed=1, compress_ratio=0.1, direct=False)
    assert iobound.read_file(path, direct=False).bytes == 4


def test_other_threads_run_meanwhile() -> None:
    ticks: list[float] = []
    writer = threading.Thread(target=iobound.write_file, args=("null:", "4GiB"))
    writer.start()
    while writer.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    writer.join()
    assert len(ticks) > 20


INTERRUPTED = textwrap.dedent("""
    import signal, sys, time
    import iobound
    before = signal.getsignal(signal.SIGINT)
    print("ready", flush=True)
    try:
        iobound.write_file(sys.argv[1], sys.argv[2], direct=False)
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    assert signal.getsignal(signal.SIGINT) is before
    try:
        print("ready", flush=True)
        time.sleep(20)
        print("deaf")
    except KeyboardInterrupt:
        print("handlers work")
    assert iobound.write_file("null:", 1000).bytes == 1000
""")


def test_ctrl_c_interrupts_and_handlers_stay_pythons() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "null:", "1000TB"], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        for expected in ("ready", "interrupted", "ready", "handlers work"):
            assert child.stdout.readline().strip() == expected
            if expected == "ready":
                time.sleep(1.0)
                child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 0
    finally:
        child.kill()
        child.wait()


def test_a_file_is_whole_as_far_as_it_goes_when_interrupted(path: Path) -> None:
    if os.statvfs(path.parent).f_bavail * os.statvfs(path.parent).f_frsize < 8 << 30:
        pytest.skip("less than 8 GiB free in the temporary directory")
    script = textwrap.dedent("""
        import sys
        import iobound
        try:
            iobound.write_file(sys.argv[1], "6GiB", seed=5, direct=False)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    child = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (path.exists() and path.stat().st_blocks > 0):
            time.sleep(0.01)
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    if "interrupted" in out and path.exists():
        size = path.stat().st_size
        assert size < 6 << 30
        assert size == 0 or iobound.read_file(path, seed=5, direct=False).verified
