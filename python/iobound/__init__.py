"""Storage benchmarks, and generated data at memory speed.

    import iobound

    generator = iobound.Generator(size=100 * 1024**3, compress_ratio=2.0, seed=42)
    buffer = bytearray(generator.chunk_size)
    while not generator.is_complete():
        count = generator.fill_chunk(buffer)
        ...  # buffer[:count]

    stats = iobound.write_file("/mnt/nvme/data.bin", "10GB")
    print(f"{stats.gb_per_s:.2f} GB/s")

    run = iobound.run("database", data="/mnt/data", wal="/mnt/wal", runtime="10s")
    print(run.verdict.says)

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
from . import plots
from .ceilings import Bound, CeilingRow, ceilings
from .errors import BadUsage, Broke, Error, Refused
from .generate import BytesView, StreamingGenerator, fill_buffer, generate_data, get_system_info
from .program import IoboundError, ProgramNotFound, RunInterrupted
from .record import Ceiling, Finding, Run, Scenario, Verdict
from .runs import RecordError, load, run
from .streams import Stats, read_file, write_file

__all__ = [
    "__version__",
    "BadUsage",
    "Bound",
    "Broke",
    "BufferPool",
    "BytesView",
    "Ceiling",
    "CeilingRow",
    "Error",
    "Finding",
    "Generator",
    "IoboundError",
    "ProgramNotFound",
    "RecordError",
    "Refused",
    "Run",
    "RunInterrupted",
    "Scenario",
    "Stats",
    "StreamingGenerator",
    "Verdict",
    "ceilings",
    "create_bytearrays",
    "fill_buffer",
    "generate_buffer",
    "generate_data",
    "generate_into_buffer",
    "get_numa_info",
    "get_system_info",
    "load",
    "plots",
    "read_file",
    "run",
    "write_file",
]
