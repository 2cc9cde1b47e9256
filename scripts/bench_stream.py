"""The section of bench.py about streams: against fio and dgen-py on this disk, and against itself.

Called by bench.py, which passes itself; see its head for how sections run.
"""

import itertools
import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30

# Long enough for rates, short enough for many turns: the disk is shared, and pairs close in time see the
# same of it.
SIZE = 3 * GIB
PAIRS = 7

# dgen-py's own storage_benchmark.py, where somebody has it: it is in dgen-py's repository
# (python/examples/), not in its package.
DGEN_SCRIPT = os.environ.get("DGEN_STORAGE_BENCHMARK")

# A pipeline of generator, pool and writers as dgen-py's documents describe their storage_benchmark.py. It
# is kinder to dgen-py than that program, whose writers each begin at offset 0, so that they write over one
# another, and which goes on through the page cache unasked: this one writes each piece at its own offset,
# past the cache.
DGEN_STREAM = """
import mmap, os, queue, sys, threading, time
import dgen_py
path, size, block, count, writers = sys.argv[1], *map(int, sys.argv[2:6])
free, full = queue.Queue(), queue.Queue()
for _ in range(count):
    free.put(mmap.mmap(-1, block))
descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o644)
os.posix_fallocate(descriptor, 0, size)
generator = dgen_py.Generator(size=size, dedup_ratio=1.0, compress_ratio=1.0, numa_mode="auto")
def write():
    while (item := full.get()) is not None:
        buffer, offset = item
        os.pwrite(descriptor, buffer, offset)
        free.put(buffer)
threads = [threading.Thread(target=write) for _ in range(writers)]
start, offset = time.perf_counter(), 0
for thread in threads:
    thread.start()
while offset < size:
    buffer = free.get()
    if generator.fill_chunk(buffer) != block:
        break
    full.put((buffer, offset))
    offset += block
for _ in threads:
    full.put(None)
for thread in threads:
    thread.join()
print(offset / (time.perf_counter() - start))
"""


def stream(bench, *arguments, before=()):
    """One stream by iobound: the scenario, as run.json has it."""
    with tempfile.TemporaryDirectory(prefix=bench.SCRATCH) as directory:
        out = Path(directory) / "out"
        bench.run([*before, bench.IOBOUND, "stream", *arguments, "--out", out, "--quiet"], cwd=directory)
        return json.loads((out / "run.json").read_text())["scenarios"][0]


def rate(scenario):
    """Bytes a second without the final sync, which fio and dgen-py do not make either."""
    return scenario["measurement"]["write"]["bytes"] / (scenario["stream"]["writing_ns"] / 1e9)


def synced_rate(scenario):
    """Bytes a second with the final sync, which dgen-py's own program makes."""
    stream = scenario["stream"]
    return scenario["measurement"]["write"]["bytes"] / ((stream["writing_ns"] + stream["finishing_ns"]) / 1e9)


def processor(scenario):
    """Seconds of processor for each GB."""
    cpu = scenario["measurement"]["cpu"]
    return (cpu["user_ns"] + cpu["system_ns"]) / scenario["measurement"]["write"]["bytes"]


def arguments_of(settings):
    """The chosen settings of a search as options."""
    return [
        "--mode", settings["mode"], "--buffer-size", settings["buffer_bytes"], "--depth", settings["depth"],
        "--num-writers", settings["writers"], "--buffer-count", settings["buffers"],
        *(["--max-threads", settings["producers"]] if settings["producers"] else []),
    ]  # fmt: skip


def chosen(scenario):
    return next(trial["settings"] for trial in scenario["stream"]["tuning"]["trials"] if trial["chosen"])


def in_words(settings):
    block = settings["buffer_bytes"] // 1024
    return f"{settings['mode']}, {settings['writers']} x depth {settings['depth']} x {block} KiB"


def section(bench, page):
    page.section(
        "Streams",
        f"""
`iobound stream` of incompressible data to a fresh file of {SIZE // GIB} GiB under the temporary directory, past the
page cache, with what `--auto` chose there; fio writing the same from constant buffers with the fastest
of its engines, block sizes and depths (tried first), and with `--refill_buffers`; a dgen-py pipeline in
the fastest of its settings, and dgen-py's own storage_benchmark.py in the fastest of its, where
`DGEN_STORAGE_BENCHMARK` says where it is. {PAIRS} turns; ratios are medians of the ratios within a turn. No rate
but that program's includes a final sync; the ratio to it has both with it. Processor time is what each program says
of itself, kernel workers included.""",
    )
    with tempfile.TemporaryDirectory(prefix=bench.SCRATCH) as directory:
        disk(bench, page, Path(directory) / "stream.bin")
    null(bench, page)
    auto(bench, page)


def fio_write(bench, path, engine, block, depth, jobs=1, *more):
    path.unlink(missing_ok=True)
    ring = ["--registerfiles=1", "--fixedbufs=1"] if engine == "io_uring" else []
    job = bench.fio(
        "--rw=write", "--direct=1", f"--ioengine={engine}", f"--bs={block}", f"--iodepth={depth}",
        f"--numjobs={jobs}", f"--size={SIZE // jobs}", f"--offset_increment={SIZE // jobs}",
        f"--filename={path}", *ring, *more,
    )  # fmt: skip
    path.unlink(missing_ok=True)
    seconds = job["write"]["runtime"] / 1e3
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * seconds * jobs
    return job["write"]["bw_bytes"], cpu / (job["write"]["io_bytes"] / 1e9)


def dgen_write(bench, path, block, count, writers):
    path.unlink(missing_ok=True)
    out = bench.run([bench.VENV / "bin/python", "-c", DGEN_STREAM, path, SIZE, block, count, writers])
    path.unlink(missing_ok=True)
    return float(out)


def dgen_script(bench, path, *arguments):
    """What the program says of itself: bytes a second, the final fsync included, and whether past the cache."""
    path.unlink(missing_ok=True)
    said = bench.run([bench.VENV / "bin/python", DGEN_SCRIPT, "--size", SIZE, "--output", path, *arguments])
    path.unlink(missing_ok=True)
    written, seconds = re.search(r"Data written: ([\d.]+) GB in ([\d.]+)s", said).groups()
    return float(written) * 1e9 / float(seconds), "O_DIRECT" in re.search(r"I/O Mode: (.*)", said).group(1)


def disk(bench, page, path):
    # One try of each says little on a shared disk, so the fastest of the grid is joined by the very shape
    # of our own stream; whichever does better in the turns counts.
    grid = itertools.product(["io_uring", "libaio"], [MIB, 4 * MIB], [2, 8, 16])
    best = max(grid, key=lambda one: fio_write(bench, path, *one)[0])
    ours = chosen(stream(bench, "--auto", "-s", SIZE, "-o", path))
    path.unlink(missing_ok=True)
    shape = ("io_uring", ours["buffer_bytes"], ours["depth"], ours["writers"])
    subjects = {
        "iobound stream": lambda: stream(bench, "-s", SIZE, "-o", path, "--overwrite", *arguments_of(ours)),
        "fio, constant buffers": lambda: fio_write(bench, path, *best),
        "fio, constant buffers, our shape": lambda: fio_write(bench, path, *shape),
        "fio, refill_buffers": lambda: fio_write(bench, path, *best, 1, "--refill_buffers=1"),
    }
    if bench.dgen_version():
        options = [(4 * MIB, 128, 4), (4 * MIB, 250, 1), (8 * MIB, 64, 2)]
        fastest = max(options, key=lambda one: dgen_write(bench, path, *one))
        subjects["dgen-py pipeline"] = lambda: (dgen_write(bench, path, *fastest), None)
    if bench.dgen_version() and DGEN_SCRIPT:
        given = [["--auto"], [], ["--num-writers", "4", "--buffer-count", "128"], ["--buffer-size", "8MB", "--buffer-count", "64", "--num-writers", "2"]]
        (_, is_direct), its_best = max((dgen_script(bench, path, *one), one) for one in given)
        how = "past the page cache" if is_direct else "through the page cache, unasked"
        with_what = f"with `{' '.join(map(str, its_best))}`" if its_best else "with its defaults"
        page.note(f"dgen-py's own program is fastest here {with_what}, and writes {how}.")
        subjects["dgen-py storage_benchmark.py"] = lambda: (dgen_script(bench, path, *its_best)[0], None)
    seen = bench.in_turns({name: one_turn(measure, path) for name, measure in subjects.items()}, PAIRS)
    rows = []
    for name, results in seen.items():
        cpu = [result[1] for result in results if result[1] is not None]
        rows.append([
            name,
            bench.spread([result[0] for result in results], 1e9),
            bench.spread(cpu, form="{:,.3f}") if cpu else "-",
        ])  # fmt: skip
    page.table(["program", "GB/s", "s of processor a GB"], rows)
    page.note(f"`--auto` chose {in_words(ours)}. fio's fastest: {best[0]}, {best[1] // 1024} KiB, depth {best[2]}.")

    def ratio(index, other):
        return statistics.median(a[index] / b[index] for a, b in zip(seen["iobound stream"], seen[other]))

    against = min(ratio(0, name) for name in seen if name.startswith("fio, constant"))
    page.bar("stream to this disk", "at least 97% of fio's best with constant buffers", f"{against:.1%}", against >= 0.97)
    if "dgen-py pipeline" in seen:
        against = ratio(0, "dgen-py pipeline")
        page.bar("the same", "at least 1.5 x a dgen-py pipeline", f"{against:.2f} x", against >= 1.5)
    if "dgen-py storage_benchmark.py" in seen:
        pairs = zip(seen["iobound stream"], seen["dgen-py storage_benchmark.py"])
        against = statistics.median(ours[2] / its[0] for ours, its in pairs)
        page.bar("the same, both with the final sync", "at least 1.5 x dgen-py's storage_benchmark.py", f"{against:.2f} x", against >= 1.5)
    against = ratio(1, "fio, refill_buffers")
    page.bar("processor time a GB", "at most half of fio's with refill_buffers", f"{against:.2f} x", against <= 0.5)


def one_turn(measure, path):
    def turn():
        result = measure()
        path.unlink(missing_ok=True)
        return (rate(result), processor(result), synced_rate(result)) if isinstance(result, dict) else result

    return turn


def null(bench, page):
    ours = arguments_of(chosen(stream(bench, "--auto", "-s", "1TB", "-o", "null:", before=["timeout", "-s", "INT", "20"])))
    seen = bench.in_turns(
        {
            "stream to null": lambda: rate(stream(bench, "-s", 200 * GIB, "-o", "null:", *ours)),
            "calibrate": lambda: json.loads(bench.run([bench.IOBOUND, "calibrate", "--json"]))["fill_bytes_per_s_all_cores"],
        }
    )
    page.table(["no target", "GB/s"], [[name, bench.spread(values, 1e9)] for name, values in seen.items()])
    share = statistics.median(a / b for a, b in zip(seen["stream to null"], seen["calibrate"]))
    page.bar("stream to null", "at least 90% of the fill rate of all cores", f"{share:.0%}", share >= 0.9)
    peaks = {}
    for size in ("10GB", "1TB"):
        peaks[size] = peak(bench, size, ours)
    page.note("Peak memory of a stream to null: " + ", ".join(f"{size} {bytes_ / MIB:.1f} MiB" for size, bytes_ in peaks.items()) + ".")
    grown = peaks["1TB"] - peaks["10GB"]
    page.bar("memory of 1 TB against 10 GB", "flat (within 2 MiB)", f"{grown / MIB:+.1f} MiB", grown <= 2 * MIB)


def peak(bench, size, settings):
    """Largest resident size of a stream to null."""
    with tempfile.TemporaryDirectory(prefix=bench.SCRATCH) as directory:
        command = [bench.IOBOUND, "stream", "-s", size, "-o", "null:", *settings, "--quiet", "--out", f"{directory}/out"]
        child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError(f"{command}: exit code {child.returncode}")
    return usage.ru_maxrss * 1024


def auto(bench, page):
    """What --auto chooses against the best of a grid, both measured again in turns."""
    rows = []
    targets = [("null", [], "null:", 10 * GIB)]
    if os.geteuid() == 0:
        limits = ["--iops", "400", "--bytes-per-s", 80 * MIB, "--size", 512 * MIB]
        targets.append(("device of 400 IOPS and 80 MiB/s", [bench.LAB, "with", *limits, "--"], None, 160 * MIB))
    for name, before, output, size in targets:
        def once(*arguments):
            if output:
                return stream(bench, "-s", size, "-o", output, *arguments)
            return on_device(bench, before, size, arguments)

        searched = chosen(once("--auto"))
        grid = []
        for mode, writers, depth, block in itertools.product(["fused", "split"], [1, 2, 4], [1, 4, 16], [256 << 10, MIB, 4 * MIB]):
            settings = {
                "mode": mode, "writers": writers, "depth": depth, "buffer_bytes": block,
                "buffers": writers * (depth + 1) + 2, "producers": 1 if mode == "split" else 0,
            }  # fmt: skip
            grid.append((rate(once(*arguments_of(settings))), settings))
        best = max(grid, key=lambda one: one[0])[1]
        seen = bench.in_turns(
            {"auto": lambda: rate(once(*arguments_of(searched))), "grid": lambda: rate(once(*arguments_of(best)))}
        )
        share = statistics.median(a / b for a, b in zip(seen["auto"], seen["grid"]))
        for who, settings in (("auto", searched), ("grid", best)):
            rows.append([f"{name}: {who}", in_words(settings), bench.spread(seen[who], 1e6, "{:,.1f}")])
        page.bar(f"--auto, {name}", f"within 5% of the best of {len(grid)} settings", f"{share - 1:+.1%}", share >= 0.95)
    page.table(["target", "settings", "MB/s"], rows)


def on_device(bench, before, size, arguments):
    """A stream to the throttled device, whose name is known only inside."""
    with tempfile.TemporaryDirectory(prefix=bench.SCRATCH) as directory:
        script = f'exec "$0" stream -s {size} -o "$IOBOUND_DEVICE" --destroy-data "$IOBOUND_DEVICE" "$@"'
        words = ["sh", "-c", script, bench.IOBOUND, *arguments, "--out", f"{directory}/out", "--quiet"]
        bench.run([*before, *words], cwd=directory)
        return json.loads(Path(directory, "out/run.json").read_text())["scenarios"][0]
