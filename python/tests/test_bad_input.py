"""Values that mean nothing are refused, with what would do."""

from __future__ import annotations

from typing import Any

import pytest

import iobound

NAN, INF = float("nan"), float("inf")

BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"size": 0}, ValueError, "size 0: .* use 1 or more"),
    ({"size": -1}, ValueError, "-1: use a number from 0"),
    ({"size": 2**64}, ValueError, "use a number"),
    ({"size": "10"}, TypeError, "integer"),
    ({"size": 1.5}, TypeError, "integer"),
    ({"size": None}, TypeError, "integer"),
    ({"dedup_ratio": 0.5}, ValueError, "dedup_ratio 0.5 is below 1"),
    ({"dedup_ratio": NAN}, ValueError, "dedup_ratio NaN is not a number"),
    ({"dedup_ratio": INF}, ValueError, "dedup_ratio inf"),
    ({"dedup_ratio": "2"}, TypeError, "real number"),
    ({"compress_ratio": 0.99}, ValueError, "compress_ratio 0.99 is below 1"),
    ({"compress_ratio": -INF}, ValueError, "compress_ratio -inf"),
    ({"compress_ratio": NAN}, ValueError, "compress_ratio NaN"),
    ({"compress_ratio": 33}, ValueError, "to 32"),
    ({"numa_mode": "never"}, ValueError, "Invalid numa_mode 'never'"),
    ({"numa_node": 9999}, ValueError, "numa_node 9999: this machine has the nodes"),
    ({"max_threads": 0}, ValueError, "max_threads 0: use 1 to 1024"),
    ({"max_threads": 100_000}, ValueError, "use 1 to 1024"),
    ({"chunk_size": 0}, ValueError, "chunk_size 0"),
    ({"block_size": 3}, ValueError, "block_size 3: use 4096 bytes or more"),
    ({"seed": -1}, ValueError, "-1: use a number"),
    ({"seed": 2**64}, ValueError, "use a number"),
    ({"seed": 1.5}, TypeError, "integer"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: str(bad[0]))
def test_generator(bad: tuple[dict[str, Any], type[Exception], str]) -> None:
    options, error, words = bad
    with pytest.raises(error, match=words):
        iobound.Generator(**{"size": 5000, **options})


OF_ONE_BUFFER = [bad for bad in BAD if not {"chunk_size", "block_size", "seed"} & set(bad[0])]


@pytest.mark.parametrize("bad", OF_ONE_BUFFER, ids=lambda bad: str(bad[0]))
def test_generate_buffer(bad: tuple[dict[str, Any], type[Exception], str]) -> None:
    options, error, words = bad
    with pytest.raises(error, match=words):
        iobound.generate_buffer(**{"size": 5000, **options})


def test_chunks() -> None:
    generator = iobound.Generator(100)
    for size, error in [(0, ValueError), (-1, ValueError), ("x", TypeError)]:
        with pytest.raises(error):
            generator.get_chunk(size)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        generator.set_seed()  # type: ignore[call-arg]
    assert generator.position() == 0


def test_a_refused_buffer_stays_as_it_was() -> None:
    buffer = bytearray(5000)
    for options in ({"compress_ratio": NAN}, {"numa_mode": "never"}, {"max_threads": 0}):
        with pytest.raises(ValueError):
            iobound.generate_into_buffer(buffer, **options)
    assert not any(buffer)


def test_odd_sizes_are_exact() -> None:
    for size in (1, 511, 4095, 4097, 1_000_001):
        content = iobound.Generator(size, seed=1).get_chunk(2 * size)
        assert content is not None and len(content) == size
