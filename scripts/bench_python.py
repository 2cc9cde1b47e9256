"""The section of bench.py about the Python package: against the Rust fill and against dgen-py.

Called by bench.py, which passes itself; see its head for how sections run.
"""

import statistics
import subprocess

MIB = 1 << 20
SECONDS = 1
TURNS = 9
SIZES = (MIB, 4 * MIB, 32 * MIB, 256 * MIB)

# One buffer, filled again and again. A private mapping begins on a page and is memory as a program's own is;
# a bytearray is what dgen-py's documents use.
FILL = """
import importlib, mmap, sys, time
module, kind, size, threads, seconds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
generator = importlib.import_module(module).Generator(16 << 30, max_threads=threads, seed=1)
if kind == "mapping":
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer.write(b"\\1" * size)
else:
    buffer = bytearray(b"\\1" * size)
made, begun = 0, time.perf_counter()
while time.perf_counter() - begun < seconds:
    count = generator.fill_chunk(buffer)
    made += count
    if count < size:
        generator.reset()
print(made / (time.perf_counter() - begun))
"""


def by_python(bench, module, kind, size, threads):
    words = [bench.VENV / "bin/python", "-c", FILL, module, kind, size, threads, SECONDS]
    return float(bench.run(words))


def by_rust(bench, size):
    return float(bench.run([bench.ROOT / "target/release/examples/fill_buffer", size, SECONDS]))


def install(bench):
    """The wheel as a user gets it, and the other side of the comparison."""
    pip = [bench.VENV / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--force-reinstall", "--no-deps", bench.ROOT], check=True)
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--package", "iobound-fill", "--example", "fill_buffer"],
        cwd=bench.ROOT,
        check=True,
    )


def section(bench, page):
    page.section(
        "The Python package",
        f"""
`Generator.fill_chunk` of incompressible data into one buffer, again and again for {SECONDS} s, {TURNS} turns; ratios are
medians of the ratios within a turn. Against the Rust fill: a page-aligned mapping, one thread. Against
dgen-py: a bytearray of its own `chunk_size`, 32 MiB, and one of 1 MiB.""",
    )
    if not (bench.VENV / "bin/pip").exists():
        page.note("Not measured: there is no virtual environment; python3-venv is missing.")
        return
    install(bench)
    against_rust(bench, page)
    if bench.dgen_version():
        against_dgen(bench, page)


def against_rust(bench, page):
    rows, ratios = [], []
    for size in SIZES:
        seen = bench.in_turns(
            {
                "python": lambda size=size: by_python(bench, "iobound", "mapping", size, 1),
                "rust": lambda size=size: by_rust(bench, size),
            },
            TURNS,
        )
        ratio = statistics.median(a / b for a, b in zip(seen["python"], seen["rust"]))
        ratios.append(ratio)
        rows.append([f"{size // MIB} MiB", bench.spread(seen["python"], 1e9), bench.spread(seen["rust"], 1e9), f"{ratio:.3f}"])
    page.table(["buffer", "fill_chunk, GB/s", "Rust fill, GB/s", "ratio"], rows)
    page.bar("fill_chunk, 1 MiB and up", "within 5% of the Rust fill", f"{min(ratios):.1%}", min(ratios) >= 0.95)


def against_dgen(bench, page):
    rows = []
    for threads in (1, 2):
        for size in (MIB, 32 * MIB):
            seen = bench.in_turns(
                {
                    "iobound": lambda size=size, threads=threads: by_python(bench, "iobound", "bytearray", size, threads),
                    "dgen": lambda size=size, threads=threads: by_python(bench, "dgen_py", "bytearray", size, threads),
                },
                TURNS,
            )
            ratio = statistics.median(a / b for a, b in zip(seen["iobound"], seen["dgen"]))
            rows.append([
                f"{threads}", f"{size // MIB} MiB", bench.spread(seen["iobound"], 1e9),
                bench.spread(seen["dgen"], 1e9), f"{ratio:.2f}",
            ])  # fmt: skip
            what = f"fill_chunk of {size // MIB} MiB, max_threads={threads}"
            page.bar(what, "at least 4 x dgen-py", f"{ratio:.2f} x", ratio >= 4)
    page.table(["threads", "bytearray", "iobound, GB/s", "dgen-py, GB/s", "ratio"], rows)
