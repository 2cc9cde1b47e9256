"""Any writable buffer is filled in place; any other is refused and stays as it was."""

from __future__ import annotations

import array
import ctypes
import mmap
import os
import threading
import time

import numpy
import pytest

import iobound

LENGTH = 40_000


def content() -> bytes:
    made = iobound.Generator(LENGTH, seed=6).get_chunk(LENGTH)
    assert made is not None
    return made


def buffers() -> dict[str, object]:
    return {
        "bytearray": bytearray(LENGTH),
        "memoryview": memoryview(bytearray(LENGTH)),
        "part of a memoryview": memoryview(bytearray(LENGTH + 99))[7 : LENGTH + 7],
        "mmap": mmap.mmap(-1, LENGTH),
        "array of doubles": array.array("d", bytes(LENGTH)),
        "ctypes array": (ctypes.c_ubyte * LENGTH)(),
        "numpy bytes": numpy.zeros(LENGTH, dtype=numpy.uint8),
        "numpy floats": numpy.zeros(LENGTH // 4, dtype=numpy.float32),
        "numpy complex": numpy.zeros(LENGTH // 16, dtype=numpy.complex128),
        "numpy big-endian": numpy.zeros(LENGTH // 4, dtype=">i4"),
        "numpy of two dimensions": numpy.zeros((100, LENGTH // 100), dtype=numpy.uint8),
        "part of a numpy array": numpy.zeros(LENGTH + 64, dtype=numpy.uint8)[3 : LENGTH + 3],
    }


@pytest.mark.parametrize("kind", buffers())
def test_fills_in_place(kind: str) -> None:
    buffer = buffers()[kind]
    assert iobound.Generator(LENGTH, seed=6).fill_chunk(buffer) == LENGTH
    assert memoryview(buffer).tobytes() == content()  # type: ignore[arg-type]
    assert iobound.generate_into_buffer(buffer) == LENGTH
    assert iobound.fill_buffer(buffer, compress_ratio=2.0, max_threads=2) == LENGTH


def closed_mmap() -> object:
    buffer = mmap.mmap(-1, LENGTH)
    buffer.close()
    return buffer


def released() -> object:
    view = memoryview(bytearray(LENGTH))
    view.release()
    return view


def read_only_array() -> object:
    held = numpy.zeros(LENGTH, dtype=numpy.uint8)
    held.flags.writeable = False
    return held


REFUSED: list[tuple[str, object, type[Exception], str]] = [
    ("bytes", bytes(LENGTH), ValueError, "must be writable"),
    ("read-only view", memoryview(bytearray(LENGTH)).toreadonly(), ValueError, "must be writable"),
    ("read-only array", read_only_array(), ValueError, "must be writable"),
    ("closed mmap", closed_mmap(), ValueError, "closed"),
    ("released memoryview", released(), ValueError, "released"),
    ("strided memoryview", memoryview(bytearray(LENGTH))[::2], ValueError, "C-contiguous"),
    ("backward memoryview", memoryview(bytearray(LENGTH))[::-1], ValueError, "C-contiguous"),
    ("strided numpy", numpy.zeros(LENGTH, dtype=numpy.uint8)[::2], ValueError, "C-contiguous"),
    ("Fortran order", numpy.zeros((10, 10), numpy.uint8, order="F"), ValueError, "C-contiguous"),
    ("objects", numpy.array([None, "text"], dtype=object), TypeError, "must hold numbers"),
    ("truth values", numpy.zeros(8, dtype=bool), TypeError, "must hold numbers"),
    ("pointers", (ctypes.c_char_p * 4)(), TypeError, "must hold numbers"),
    ("records", numpy.zeros(8, dtype=[("a", "i4"), ("b", "i4")]), TypeError, "must hold numbers"),
    ("a number", 3, TypeError, "bytes-like"),
    ("text", "text", TypeError, "bytes-like"),
    ("a list", [0] * 10, TypeError, "bytes-like"),
    ("nothing", None, TypeError, "bytes-like"),
]


@pytest.mark.parametrize("kind", [name for name, *_ in REFUSED])
def test_refuses(kind: str) -> None:
    _, buffer, error, words = next(case for case in REFUSED if case[0] == kind)
    generator = iobound.Generator(LENGTH, seed=1)
    with pytest.raises(error, match=words):
        generator.fill_chunk(buffer)
    assert generator.position() == 0, "a refusal takes nothing of the stream"
    with pytest.raises(error, match=words):
        iobound.generate_into_buffer(buffer)
    if kind not in ("closed mmap", "released memoryview") and isinstance(buffer, (bytes, memoryview)):
        assert not any(bytes(buffer)), "a refusal writes nothing"


def test_an_empty_buffer_would_never_end() -> None:
    generator = iobound.Generator(10)
    with pytest.raises(ValueError, match="empty"):
        generator.fill_chunk(bytearray())
    assert iobound.generate_into_buffer(bytearray()) == 0


def test_a_buffer_is_given_back() -> None:
    buffer = bytearray(LENGTH)
    iobound.Generator(LENGTH).fill_chunk(buffer)
    buffer.clear()
    with pytest.raises(ValueError):
        iobound.Generator(LENGTH).fill_chunk(memoryview(b"read-only"))
    view = memoryview(bytearray(LENGTH))[::2]
    with pytest.raises(ValueError):
        iobound.Generator(LENGTH).fill_chunk(view)
    view.release()


def test_a_buffer_cannot_shrink_while_it_is_filled() -> None:
    buffer = bytearray(256 << 20)
    generator = iobound.Generator(len(buffer), seed=1, max_threads=1)
    filler = threading.Thread(target=generator.fill_chunk, args=(buffer,))
    filler.start()
    refused = 0
    while filler.is_alive():
        # Before the fill begins and after its end this is allowed, and grows it again.
        try:
            buffer.append(0)
            buffer.pop()
        except BufferError:
            refused += 1
    filler.join()
    assert refused > 0


def test_other_threads_run_while_it_fills() -> None:
    buffer = mmap.mmap(-1, 512 << 20)
    span: list[float] = []

    def fill() -> None:
        begin = time.perf_counter()
        iobound.Generator(len(buffer), max_threads=1).fill_chunk(buffer)
        span.extend([begin, time.perf_counter()])

    filler = threading.Thread(target=fill)
    filler.start()
    ticks = []
    while filler.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    filler.join()
    begin, end = span
    # One could slip in at either edge even if the interpreter were held throughout.
    assert sum(begin < tick < end for tick in ticks) > 5


def test_a_forked_child_has_threads_of_its_own() -> None:
    generator = iobound.Generator(64 << 20, seed=2, max_threads=2, numa_node=0)
    first = generator.get_chunk(16 << 20)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # Without threads of its own it would wait forever.
        generator.reset()
        same = generator.get_chunk(16 << 20) == first and len(iobound.generate_buffer(4 << 20)) == 4 << 20
        os.write(writer, b"same" if same else b"other")
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 10) == b"same"
    os.close(reader)
    os.waitpid(child, 0)
    generator.reset()
    assert generator.get_chunk(16 << 20) == first
