"""The names that dgen-py has beside its native ones."""

from __future__ import annotations

from typing import Any

from ._native import Generator, generate_buffer, generate_into_buffer, get_numa_info

#: What generated buffers are: read-only, with a buffer of their own, as dgen-py's class of this name.
BytesView = bytes

#: Another name of dgen-py's for it.
StreamingGenerator = Generator


def generate_data(
    size: int,
    dedup_ratio: float = 1.0,
    compress_ratio: float = 1.0,
    numa_mode: str = "auto",
    max_threads: int | None = None,
) -> bytes:
    """`size` new bytes, other ones at each call."""
    return generate_buffer(size, dedup_ratio, compress_ratio, numa_mode, max_threads)


def fill_buffer(
    buffer: object,
    dedup_ratio: float = 1.0,
    compress_ratio: float = 1.0,
    numa_mode: str = "auto",
    max_threads: int | None = None,
) -> int:
    """Fills a writable buffer, with other bytes at each call; returns its length."""
    return generate_into_buffer(buffer, dedup_ratio, compress_ratio, numa_mode, max_threads)


def get_system_info() -> dict[str, Any] | None:
    """Nodes, cores and processors of this machine.

    Keys: `num_nodes`, `physical_cores`, `logical_cpus`, `is_uma`, `deployment_type`.
    """
    return get_numa_info()
