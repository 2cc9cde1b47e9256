"""A stream's bytes depend on seed, ratios and position alone."""

from __future__ import annotations

import random
import threading
import zlib
from collections.abc import Callable

import pytest

import iobound

MIB = 1 << 20
SIZE = 9 * MIB + 12_345


def whole(size: int = SIZE, **options: object) -> bytes:
    content = iobound.Generator(size, **options).get_chunk(size)  # type: ignore[arg-type]
    assert content is not None and len(content) == size
    return content


@pytest.mark.parametrize(("dedup", "compress"), [(1.0, 1.0), (2.0, 1.5), (1.0, 3.0)])
def test_bytes_are_those_of_the_program(
    stream_of: Callable[..., bytes], dedup: float, compress: float
) -> None:
    wanted = stream_of(SIZE, "--seed", 77, "--dedup-ratio", dedup, "--compress-ratio", compress)
    assert whole(seed=77, dedup_ratio=dedup, compress_ratio=compress) == wanted


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("block", [None, 4096, 100_000])
def test_threads_and_chunks_change_nothing(threads: int, block: int | None) -> None:
    wanted = whole(seed=5)
    chooser = random.Random(threads)
    generator = iobound.Generator(SIZE, seed=5, max_threads=threads, block_size=block)
    found = bytearray()
    while not generator.is_complete():
        buffer = bytearray(chooser.choice([1, 100, 4096, 300_000, MIB, 3 * MIB + 1]))
        count = generator.fill_chunk(buffer)
        assert 0 < count <= len(buffer)
        found += buffer[:count]
        assert generator.position() == len(found)
    assert bytes(found) == wanted


def test_the_end_is_told() -> None:
    generator = iobound.Generator(10_000, seed=1)
    assert (generator.total_size(), generator.position(), generator.is_complete()) == (10_000, 0, False)
    buffer = bytearray(b"\xff" * 20_000)
    assert generator.fill_chunk(buffer) == 10_000
    assert buffer[10_000:] == b"\xff" * 10_000, "what is behind the end stays as it was"
    assert generator.is_complete()
    assert generator.fill_chunk(buffer) == 0
    assert generator.get_chunk(1) is None


def test_get_chunk_ends_short() -> None:
    generator = iobound.Generator(10_000, seed=1)
    lengths = [len(generator.get_chunk(4096) or b"") for _ in range(4)]
    assert lengths == [4096, 4096, 10_000 - 8192, 0]


def test_reset_begins_anew() -> None:
    generator = iobound.Generator(SIZE, seed=9)
    first = generator.get_chunk(5000)
    generator.reset()
    assert generator.position() == 0
    assert generator.get_chunk(5000) == first
    unseeded = iobound.Generator(SIZE)
    first = unseeded.get_chunk(5000)
    unseeded.reset()
    assert unseeded.get_chunk(5000) == first


def test_set_seed_begins_other_content_where_the_stream_is() -> None:
    generator = iobound.Generator(100_000, seed=1)
    first = [generator.get_chunk(10_000)]
    for seed in (2, 1, 2):
        generator.set_seed(seed)
        first.append(generator.get_chunk(10_000))
    assert generator.position() == 40_000, "the length goes on"
    assert first[0] == first[2] and first[1] == first[3] and first[0] != first[1]
    generator.set_seed(None)
    assert generator.get_chunk(10_000) not in first


def test_seeds() -> None:
    assert whole(5000, seed=1) != whole(5000, seed=2)
    assert whole(5000) != whole(5000)
    unseeded = iobound.Generator(5000)
    assert unseeded.get_chunk(5000) == whole(5000, seed=unseeded.seed)
    assert iobound.Generator(1, seed=2**64 - 1).seed == 2**64 - 1


def test_chunk_size_is_an_attribute() -> None:
    assert iobound.Generator(100).chunk_size == 32 * MIB
    assert iobound.Generator(100, chunk_size=50).chunk_size == 50
    with pytest.raises(AttributeError):
        iobound.Generator(100).chunk_size = 3  # type: ignore[misc]


def test_arguments_have_dgen_pys_order() -> None:
    generator = iobound.Generator(5000, 2.0, 3.0, "auto", 1, None, 4096, 1 * MIB, 8)
    assert (generator.seed, generator.chunk_size) == (8, 4096)
    assert generator.get_chunk(5000) == whole(5000, seed=8, dedup_ratio=2.0, compress_ratio=3.0)


def test_ratios_are_kept() -> None:
    content = whole(8 * MIB, seed=1, compress_ratio=3.0)
    assert 2.5 < len(content) / len(zlib.compress(content, 1)) < 3.6
    assert len(zlib.compress(whole(MIB, seed=1), 1)) > MIB
    content = whole(32 * MIB, seed=1, dedup_ratio=2.0)
    blocks = {content[at : at + 4096] for at in range(0, len(content), 4096)}
    assert abs(len(content) / 4096 / len(blocks) - 2.0) < 0.1


def test_numa_choices_change_no_bytes() -> None:
    wanted = whole(seed=3)
    for options in ({"numa_mode": "force"}, {"numa_mode": "disabled"}, {"numa_node": 0}):
        for threads in (1, 2):
            assert whole(seed=3, max_threads=threads, **options) == wanted


def test_threads_that_share_one_get_each_part_once() -> None:
    size, chunk = 64 * MIB, MIB
    generator = iobound.Generator(size, seed=4, max_threads=2)
    parts: list[bytes] = []

    def take() -> None:
        while (part := generator.get_chunk(chunk)) is not None:
            parts.append(part)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = whole(size, seed=4)
    assert sorted(parts) == sorted(wanted[at : at + chunk] for at in range(0, size, chunk))


def test_repr_says_where_it_is() -> None:
    generator = iobound.Generator(100, seed=7)
    generator.get_chunk(10)
    assert repr(generator) == "<iobound.Generator: 10 of 100 bytes, seed 7>"
