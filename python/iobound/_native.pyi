"""The native half; python/src has it."""

import os
from collections.abc import Sequence
from typing import Any, final

__all__ = [
    "BufferPool",
    "Generator",
    "__version__",
    "create_bytearrays",
    "generate_buffer",
    "generate_into_buffer",
    "get_numa_info",
    "read_file",
    "write_file",
]

__version__: str

@final
class Generator:
    """A stream of generated data."""

    def __new__(
        cls,
        size: int,
        dedup_ratio: float = 1.0,
        compress_ratio: float = 1.0,
        numa_mode: str = "auto",
        max_threads: int | None = None,
        numa_node: int | None = None,
        chunk_size: int | None = None,
        block_size: int | None = None,
        seed: int | None = None,
    ) -> Generator: ...
    @property
    def chunk_size(self) -> int: ...
    @property
    def seed(self) -> int: ...
    def fill_chunk(self, buffer: object) -> int: ...
    def get_chunk(self, chunk_size: int) -> bytes | None: ...
    def is_complete(self) -> bool: ...
    def position(self) -> int: ...
    def reset(self) -> None: ...
    def set_seed(self, seed: int | None) -> None: ...
    def total_size(self) -> int: ...

@final
class BufferPool:
    """Many small buffers, one after the other."""

    def __new__(cls, dedup_ratio: float = 1.0, compress_ratio: float = 1.0) -> BufferPool: ...
    @property
    def compress_ratio(self) -> float: ...
    @property
    def dedup_ratio(self) -> float: ...
    @property
    def remaining(self) -> int: ...
    def next_slice(self, size: int) -> bytes: ...
    def reconfigure(self, dedup_ratio: float = 1.0, compress_ratio: float = 1.0) -> None: ...

def create_bytearrays(count: int, size: int) -> list[bytearray]: ...
def generate_buffer(
    size: int,
    dedup_ratio: float = 1.0,
    compress_ratio: float = 1.0,
    numa_mode: str = "auto",
    max_threads: int | None = None,
    numa_node: int | None = None,
) -> bytes: ...
def generate_into_buffer(
    buffer: object,
    dedup_ratio: float = 1.0,
    compress_ratio: float = 1.0,
    numa_mode: str = "auto",
    max_threads: int | None = None,
    numa_node: int | None = None,
) -> int: ...
def get_numa_info() -> dict[str, Any]: ...
def read_file(
    path: str | os.PathLike[str],
    *,
    size: int | str | None,
    seed: int | None,
    dedup_ratio: float,
    compress_ratio: float,
    direct: bool,
    max_threads: int | None,
) -> tuple[int, float, str | None]: ...
def write_file(
    path: str,
    size: int | str,
    *,
    seed: int | None,
    dedup_ratio: float,
    compress_ratio: float,
    buffer_size: int | str | None,
    buffer_count: int | None,
    num_writers: int | None,
    depth: int | None,
    mode: str | None,
    direct: bool,
    numa_mode: str,
    max_threads: int | None,
    auto: bool,
    read_back: bool,
    overwrite: bool,
    destroy_data: Sequence[str | os.PathLike[str]],
) -> tuple[str, tuple[int, str] | None]: ...
