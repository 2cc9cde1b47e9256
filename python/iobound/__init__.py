"""Storage benchmarks, and generated data at memory speed.

    import iobound

    generator = iobound.Generator(size=100 * 1024**3, compress_ratio=2.0, seed=42)
    buffer = bytearray(generator.chunk_size)
    while not generator.is_complete():
        count = generator.fill_chunk(buffer)
        ...  # buffer[:count]

    stats = iobound.write_file("/mnt/nvme/data.bin", "10GB")
    print(f"{stats.gb_per_s:.2f} GB/s")

What generates data has the names and arguments of dgen-py: `import iobound as dgen_py`.
"""

from ._native import (
    BufferPool,
    Generator,
    __version__,
    create_bytearrays,
    generate_buffer,
    generate_into_buffer,
    get_numa_info,
)
from .errors import BadUsage, Broke, Error, Refused
from .generate import BytesView, StreamingGenerator, fill_buffer, generate_data, get_system_info
from .streams import Stats, read_file, write_file

__all__ = [
    "__version__",
    "BadUsage",
    "Broke",
    "BufferPool",
    "BytesView",
    "Error",
    "Generator",
    "Refused",
    "Stats",
    "StreamingGenerator",
    "create_bytearrays",
    "fill_buffer",
    "generate_buffer",
    "generate_data",
    "generate_into_buffer",
    "get_numa_info",
    "get_system_info",
    "read_file",
    "write_file",
]
