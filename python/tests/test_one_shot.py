"""Buffers without a generator, and what dgen-py's scripts ask of the machine."""

from __future__ import annotations

import os

import numpy
import pytest

import iobound

MIB = 1 << 20


@pytest.mark.parametrize("size", [1, 100, 4097, MIB - 1, MIB, 20 * MIB + 3])
@pytest.mark.parametrize("make", [iobound.generate_buffer, iobound.generate_data])
def test_makes_other_bytes_each_time(size: int, make: object) -> None:
    assert callable(make)
    one, other = make(size), make(size)
    assert isinstance(one, iobound.BytesView)
    assert (len(one), memoryview(one).readonly, numpy.frombuffer(one, numpy.uint8).size) == (size, True, size)
    assert size < 16 or one != other
    zeroes = numpy.count_nonzero(numpy.frombuffer(one, numpy.uint8) == 0)
    assert zeroes <= 10 + size / 128, "all of it was made"


def test_ratios_and_threads_are_taken() -> None:
    content = iobound.generate_data(64 * MIB, 2.0, 1.0, "auto", 2)
    blocks = {content[at : at + 4096] for at in range(0, len(content), 4096)}
    assert abs(len(content) / 4096 / len(blocks) - 2.0) < 0.1


def test_bytearrays() -> None:
    made = iobound.create_bytearrays(3, 5000)
    assert [type(one) for one in made] == [bytearray] * 3
    assert [len(one) for one in made] == [5000] * 3
    assert iobound.create_bytearrays(count=0, size=5) == []
    assert iobound.create_bytearrays(2, 0) == [bytearray(), bytearray()]
    assert iobound.Generator(5000, seed=1).fill_chunk(made[0]) == 5000
    with pytest.raises(MemoryError):
        iobound.create_bytearrays(1, 1 << 62)
    with pytest.raises(MemoryError):
        iobound.generate_buffer(1 << 62)


def test_pool() -> None:
    pool = iobound.BufferPool(dedup_ratio=1.0, compress_ratio=1.0)
    assert pool.remaining == MIB
    slices = [pool.next_slice(64 << 10) for _ in range(40)]
    assert len(set(slices)) == 40
    assert {len(one) for one in slices} == {64 << 10}
    assert pool.remaining == MIB - 8 * (64 << 10)
    assert len(pool.next_slice(5 * MIB)) == 5 * MIB
    pool.reconfigure(compress_ratio=4.0)
    assert (pool.compress_ratio, pool.dedup_ratio, pool.remaining) == (4.0, 1.0, MIB)
    with pytest.raises(ValueError):
        pool.next_slice(0)
    with pytest.raises(ValueError, match="compress_ratio"):
        pool.reconfigure(compress_ratio=0.1)
    assert pool.compress_ratio == 4.0


def test_system_info() -> None:
    info = iobound.get_system_info()
    assert info == iobound.get_numa_info()
    assert info is not None
    assert set(info) == {"num_nodes", "physical_cores", "logical_cpus", "is_uma", "deployment_type"}
    assert info["is_uma"] == (info["num_nodes"] == 1)
    assert 1 <= info["physical_cores"] <= info["logical_cpus"]
    assert info["logical_cpus"] >= len(os.sched_getaffinity(0))
    assert info["deployment_type"].startswith("UMA" if info["is_uma"] else "NUMA")
