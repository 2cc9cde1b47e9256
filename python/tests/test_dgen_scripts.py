"""Scripts as dgen-py's documents have them, run with `import iobound as dgen_py`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPTS = {
    "streaming": """
        gen = dgen_py.Generator(size=100 * 1024**2)
        buf = bytearray(gen.chunk_size)
        total = 0
        with open("out.bin", "wb") as output:
            while not gen.is_complete():
                n = gen.fill_chunk(buf)
                if n == 0:
                    break
                output.write(memoryview(buf)[:n])
                total += n
        assert total == gen.total_size() == gen.position() == os.path.getsize("out.bin")
    """,
    "small slices": """
        pool = dgen_py.BufferPool(dedup_ratio=1.0, compress_ratio=1.0)
        for _ in range(1000):
            obj = pool.next_slice(64 * 1024)
            assert len(obj) == 64 * 1024 and len(memoryview(obj)) == len(bytes(obj))
        pool.reconfigure(compress_ratio=4.0)
        assert 0 <= pool.remaining <= 1_048_576 and pool.compress_ratio == 4
        buf = dgen_py.generate_buffer(256 * 1024)
        assert len(buf) == 256 * 1024
    """,
    "bulk buffers": """
        n_chunks, chunk_sz = 8, 4 * 1024**2
        buffers = dgen_py.create_bytearrays(count=n_chunks, size=chunk_sz)
        gen = dgen_py.Generator(size=n_chunks * chunk_sz, numa_mode="auto", max_threads=None)
        for buf in buffers:
            gen.fill_chunk(buf)
        assert gen.is_complete() and len({bytes(buf) for buf in buffers}) == n_chunks
    """,
    "seeds": """
        gen = dgen_py.Generator(size=100 * 1024**2, seed=42)
        buf = bytearray(10 * 1024**2)
        gen.fill_chunk(buf); first = bytes(buf)
        gen.set_seed(99)
        gen.fill_chunk(buf); assert bytes(buf) != first
        gen.set_seed(42)
        gen.fill_chunk(buf); assert bytes(buf) == first
    """,
    "views of one memory": """
        import numpy as np
        data = dgen_py.generate_data(1024 * 1024, compress_ratio=3.0)
        arr = np.frombuffer(memoryview(data), dtype=np.uint8)
        assert len(data) == len(arr) and arr.ctypes.data == np.frombuffer(data, np.uint8).ctypes.data
        held = np.zeros(1024 * 1024, dtype=np.uint8)
        assert dgen_py.fill_buffer(held, dedup_ratio=2.0, max_threads=4) == held.size
    """,
    "the machine": """
        info = dgen_py.get_system_info()
        if info:
            print(f"NUMA nodes: {info['num_nodes']} cores: {info['physical_cores']} of {info['logical_cpus']}")
            print(f"Deployment: {info['deployment_type']} {info['is_uma']}")
        gen = dgen_py.StreamingGenerator(size=1024**2, dedup_ratio=2.0, compress_ratio=2.0, numa_mode="force")
        assert gen.get_chunk(8192) is not None
    """,
    "a pipeline of threads": """
        import mmap, queue, threading
        size, block = 64 * 1024**2, 4 * 1024**2
        free, full = queue.Queue(), queue.Queue()
        for _ in range(4):
            free.put(mmap.mmap(-1, block))
        gen = dgen_py.Generator(size=size, dedup_ratio=1.0, compress_ratio=1.0, numa_mode="auto")
        def consume():
            descriptor = os.open("out.bin", os.O_WRONLY | os.O_CREAT)
            while (item := full.get()) is not None:
                os.pwrite(descriptor, item[0], item[1])
                free.put(item[0])
            os.close(descriptor)
        consumer = threading.Thread(target=consume)
        consumer.start()
        at = 0
        while not gen.is_complete():
            buf = free.get()
            n = gen.fill_chunk(buf)
            full.put((buf, at))
            at += n
        full.put(None)
        consumer.join()
        assert os.path.getsize("out.bin") == size
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_runs_as_it_is(name: str, tmp_path: Path) -> None:
    script = "import os\nimport iobound as dgen_py\n" + textwrap.dedent(SCRIPTS[name])
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
