#!/usr/bin/env python3
"""Measures iobound against fio and dgen-py on this machine and writes docs/PERFORMANCE.md.

    make bench                       everything, about 40 minutes, as root for all of it
    scripts/bench.py --only null     one section: null, device, fill, throttle, memory,
                                     sampling, stream, suite, python; the page keeps the others as
                                     they were
    scripts/bench.py --out FILE      another file than docs/PERFORMANCE.md

What each section measured is kept beside the page (FILE with the ending .json), with the commit and the
machine it was measured on.

Each comparison runs its programs in turns (A B A B ..), RUNS times each, so that a machine whose
speed drifts slows both alike; tables show the median and the range. Python's standard library
only; fio comes from apt and dgen-py from PyPI, into target/bench-venv.
"""

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# No compiled files among the scripts.
sys.dont_write_bytecode = True
import bench_python  # noqa: E402
import bench_stream  # noqa: E402
import bench_suite  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
IOBOUND = ROOT / "target/release/iobound"
LAB = ROOT / "target/release/iobound-lab"
VENV = ROOT / "target/bench-venv"

# Named after its process, so that what is left behind can be told from what is in use.
SCRATCH = f"iobound-bench-{os.getpid()}-"

# One minute's; a run of its own must not count.
LOAD_AT_START = os.getloadavg()[0]

RUNS = 5
SECONDS = 3
MIB = 1 << 20
GIB = 1 << 30


# --- programs ---------------------------------------------------------------------------------


def run(command, **options):
    """Runs a program to its end; its standard output. Shows everything when it fails."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    # iobound ends with 1 when a verdict failed: the measurement stands.
    if done.returncode not in (0, 1) or (done.returncode == 1 and command[0] != str(IOBOUND)):
        raise RuntimeError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def iobound(job, *arguments, before=()):
    """One job by iobound: the measurement, as run.json has it."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
        path = Path(directory)
        (path / "job.toml").write_text(job)
        command = [*before, IOBOUND, "run", path / "job.toml", "--out", path / "out", "--quiet", *arguments]
        output = run(command, cwd=directory)
        record = path / "out/run.json"
        if not record.exists():
            raise RuntimeError(f"{command}: no run.json\n{output}")
        scenario = json.loads(record.read_text())["scenarios"][0]
        if not scenario["measurement"]:
            raise RuntimeError(f"{command}: {scenario.get('error')}")
        return scenario["measurement"]


def toml(**options):
    """A TOML job of these options."""
    lines = ["[[job]]", 'name = "bench"']
    for name, value in options.items():
        lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def fio(*arguments, before=()):
    """One job by fio: its JSON."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
        command = [*before, "fio", "--name=bench", "--output-format=json", "--group_reporting", *arguments]
        text = run(command, cwd=directory)
    return json.loads(text[text.index("{") :])["jobs"][0]


def iops_of_fio(job):
    return job["read"]["iops"] + job["write"]["iops"]


def bytes_of_fio(job):
    return job["read"]["bw_bytes"] + job["write"]["bw_bytes"]


def user_ns_of_fio(job):
    """User time for each operation. fio gives a share of the run time."""
    ios = job["read"]["total_ios"] + job["write"]["total_ios"]
    runtime_ms = max(job["read"]["runtime"], job["write"]["runtime"])
    return job["usr_cpu"] / 100 * runtime_ms * 1e6 / ios


def iops_of(measurement):
    return measurement["read"]["iops"] + measurement["write"]["iops"]


def bytes_of(measurement):
    return measurement["read"]["bandwidth_bytes_per_s"] + measurement["write"]["bandwidth_bytes_per_s"]


def user_ns_of(measurement):
    return measurement["cpu"]["user_ns"] / (measurement["read"]["ios"] + measurement["write"]["ios"])


def in_turns(subjects, runs=RUNS):
    """Calls each of the named functions `runs` times, in turns; every result, by name."""
    results = {name: [] for name in subjects}
    for _ in range(runs):
        for name, measure in subjects.items():
            results[name].append(measure())
    return results


# --- what is written --------------------------------------------------------------------------


class Page:
    """A section of PERFORMANCE.md, and the bars that were asked, met or missed."""

    def __init__(self):
        self.lines = []
        self.bars = []

    def kept(self):
        """As the page's .json holds it."""
        return {"lines": self.lines, "bars": self.bars, "machine": machine()}

    def section(self, title, text):
        print(f"\n## {title}", flush=True)
        self.lines += ["", f"## {title}", "", text.strip(), ""]

    def table(self, head, rows):
        self.lines.append("| " + " | ".join(head) + " |")
        self.lines.append("|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|")
        for row in rows:
            self.lines.append("| " + " | ".join(row) + " |")
            print("  ".join(row), flush=True)
        self.lines.append("")

    def note(self, text):
        print(text, flush=True)
        self.lines += [text, ""]

    def bar(self, what, asked, measured, met):
        print(f"{'met   ' if met else 'MISSED'} {what}: asked {asked}, measured {measured}", flush=True)
        self.bars.append((what, asked, measured, "met" if met else "**missed**"))


def spread(values, scale=1.0, form="{:,.2f}"):
    """Median and range, in units of `scale`."""
    median, low, high = (form.format(v / scale) for v in (statistics.median(values), min(values), max(values)))
    return f"{median} ({low} - {high})"


# --- the machine ------------------------------------------------------------------------------


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0]
    except (OSError, IndexError):
        return "not installed"


def machine():
    """What the numbers were measured on."""
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^(?:model name|Model|CPU part)\s*:\s*(.*)$", info, re.M)
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return [
        ("processor", f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores"),
        ("memory", f"{int(memory.group(1)) / 1024 / 1024:.1f} GiB" if memory else "unknown"),
        ("kernel", platform.release()),
        ("clock source", clock.read_text().strip() if clock.exists() else "unknown"),
        ("iobound", f"{first_line([IOBOUND, '--version'])}, commit {commit()}"),
        ("fio", first_line(["fio", "--version"])),
        ("dgen-py", dgen_version() or "not installed"),
        ("rustc", first_line(["rustc", "--version"])),
        ("date", time.strftime("%Y-%m-%d")),
        ("load average when it began", f"{LOAD_AT_START:.2f}; figures of a machine that is in use are low and wide"),
    ]


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def dgen_version():
    python = VENV / "bin/python"
    if not python.exists():
        return None
    line = first_line([python, "-c", "import importlib.metadata as m; print(m.version('dgen-py'))"])
    return None if line == "not installed" else line


def install():
    """fio by apt when root, dgen-py into a virtual environment; what is missing is said."""
    if not shutil.which("fio"):
        subprocess.run([ROOT / "scripts/install-test-deps.sh"], check=True)
    if not shutil.which("fio"):
        sys.exit("bench: fio is missing; install it and run this again")
    if not dgen_version():
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
            subprocess.run([VENV / "bin/pip", "install", "--quiet", "dgen-py"], check=True)


# --- (a) the loop itself ----------------------------------------------------------------------


def section_null(page):
    page.section(
        "The loop itself: null engine",
        f"""
4 KiB random reads, one job, depth 64, {SECONDS} s, no device below: what the tool costs. Both keep every
latency. fio runs as its defaults are, and with `norandommap`, its faster setting.""",
    )
    ours = toml(rw="randread", bs="4k", iodepth=64, size="1GiB", time_based=True, runtime=f"{SECONDS}s")
    theirs = ["--ioengine=null", "--rw=randread", "--bs=4k", "--iodepth=64", "--size=1g", "--time_based", f"--runtime={SECONDS}"]
    results = in_turns(
        {
            "iobound": lambda: iobound(ours, "--engine", "null"),
            "fio": lambda: fio(*theirs),
            "fio, norandommap": lambda: fio(*theirs, "--norandommap=1"),
        }
    )
    iops = {name: [(iops_of if name == "iobound" else iops_of_fio)(r) for r in rs] for name, rs in results.items()}
    user = {name: [(user_ns_of if name == "iobound" else user_ns_of_fio)(r) for r in rs] for name, rs in results.items()}
    page.table(
        ["program", "M IOPS", "user ns per I/O"],
        [[name, spread(iops[name], 1e6), spread(user[name], form="{:,.0f}")] for name in results],
    )
    best = max(statistics.median(iops["fio"]), statistics.median(iops["fio, norandommap"]))
    mine = statistics.median(iops["iobound"])
    page.bar("null engine, 4 KiB random read, one job, depth 64", "at least 4 x fio", f"{mine / best:.1f} x", mine >= 4 * best)
    page.bar("the same, aim", "20 M IOPS on one core", f"{mine / 1e6:.1f} M", mine >= 20e6)


# --- (b) a fast device ------------------------------------------------------------------------


@contextlib.contextmanager
def zram(size):
    """A compressed-memory disk of our own, made now and removed afterwards, also when killed."""
    control = Path("/sys/class/zram-control/hot_add")
    if os.geteuid() != 0 or not control.exists():
        yield None
        return
    number = control.read_text().strip()
    block = Path(f"/sys/block/zram{number}")
    # Waits for the end of this process, of whatever kind, and takes the device away. The kernel lets
    # go of an io_uring's registered files a moment after their process is gone: busy until then.
    undo = (
        "cat >/dev/null; for i in $(seq 100); do "
        f"echo 1 >{block}/reset && echo {number} >/sys/class/zram-control/hot_remove && break; "
        "sleep 0.1; done 2>/dev/null"
    )
    guard = subprocess.Popen(["sh", "-c", undo], stdin=subprocess.PIPE, start_new_session=True)
    try:
        if (block / "disksize").read_text().strip() != "0":
            raise RuntimeError(f"{block}: a fresh zram device with a size")
        (block / "disksize").write_text(str(size))
        device = Path(f"/dev/zram{number}")
        with open("/dev/urandom", "rb") as noise, open(device, "r+b", buffering=0) as disk:
            for _ in range(size // MIB):
                disk.write(noise.read(MIB))
            os.fsync(disk.fileno())
        yield device
    finally:
        guard.stdin.close()
        guard.wait()


def section_device(page):
    size = 512 * MIB
    page.section(
        "The same device, the same depth",
        f"""
4 KiB random reads by io_uring, one job, depth 64, {SECONDS} s. fio runs with registered files and buffers and
without its random map, with and without batching; the faster counts. First a file on the disk under
the temporary directory; then a compressed-memory disk (zram, {size // MIB} MiB of incompressible data), where the
processor is the limit: the kernel hands its reads to workers, and ranges are wide.""",
    )
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
        path = Path(directory) / "data"
        with open("/dev/urandom", "rb") as noise, open(path, "wb") as file:
            for _ in range(2 * size // MIB):
                file.write(noise.read(MIB))
            os.fsync(file.fileno())
        compare_on(page, "disk", path)
    with zram(size) as device:
        if device is None:
            page.note("zram: not measured, needs root and the zram module.")
        else:
            compare_on(page, "zram", device)


def compare_on(page, name, target):
    """One target: operations a second, and user time for each."""
    # The random map and batches of one are what holds fio back at speed.
    best = [
        "--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1", "--nonvectored=1", "--hipri=0",
        "--norandommap=1", "--random_generator=tausworthe64", "--direct=1", "--rw=randread", "--bs=4k",
        "--iodepth=64", "--time_based", f"--runtime={SECONDS}", f"--filename={target}",
    ]  # fmt: skip
    batch = ["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=64"]
    ours = toml(
        rw="randread", bs="4k", iodepth=64, time_based=True, runtime=f"{SECONDS}s", direct=True,
        norandommap=True, filename=str(target),
    )  # fmt: skip
    results = in_turns(
        {
            "iobound": lambda: iobound(ours, "--engine", "io_uring"),
            "fio": lambda: fio(*best),
            "fio, batches": lambda: fio(*best, *batch),
        }
    )
    iops = {who: [(iops_of if who == "iobound" else iops_of_fio)(r) for r in rs] for who, rs in results.items()}
    user = {who: [(user_ns_of if who == "iobound" else user_ns_of_fio)(r) for r in rs] for who, rs in results.items()}
    page.table(
        [f"{name}", "k IOPS", "user ns per I/O"],
        [[who, spread(iops[who], 1e3, "{:,.1f}"), spread(user[who], form="{:,.0f}")] for who in results],
    )
    best_iops = max(statistics.median(iops[who]) for who in ("fio", "fio, batches"))
    best_user = min(statistics.median(user[who]) for who in ("fio", "fio, batches"))
    mine, mine_user = statistics.median(iops["iobound"]), statistics.median(user["iobound"])
    page.bar(f"{name}, io_uring, depth 64: IOPS", "at least fio's best", f"{mine / best_iops:.3f} x", mine >= best_iops)
    page.bar(
        f"{name}: user time per I/O", "at most 1/3 of fio's best", f"{mine_user / best_user:.2f} x", mine_user <= best_user / 3
    )


# --- (c) the fill -----------------------------------------------------------------------------

DGEN = """
import time, dgen_py
size, block = {size}, 1 << 20
generator = dgen_py.Generator(size=size, dedup_ratio={dedup}, compress_ratio={compress}, max_threads=1)
buffer, done = bytearray(block), 0
start = time.perf_counter()
while done < size:
    count = generator.fill_chunk(buffer)
    if not count:
        break
    done += count
print(done / (time.perf_counter() - start))
"""


def dgen(compress=1.0, dedup=1.0):
    script = DGEN.format(size=4 * GIB, compress=compress, dedup=dedup)
    return float(run([VENV / "bin/python", "-c", script]))


def fill_by_null(compress=1.0, dedup=1.0):
    """Writes of 1 MiB to no device, each buffer filled anew: the fill as a job sees it."""
    job = toml(
        rw="write", bs="1MiB", iodepth=8, size="64GiB", time_based=True, runtime=f"{SECONDS}s",
        refill_buffers=True, compress_ratio=compress, dedup_ratio=dedup,
    )  # fmt: skip
    return bytes_of(iobound(job, "--engine", "null"))


def fill_by_fio(*arguments):
    return bytes_of_fio(
        fio(
            "--ioengine=null", "--rw=write", "--bs=1M", "--iodepth=8", "--size=64g", "--refill_buffers=1",
            "--time_based", f"--runtime={SECONDS}", *arguments,
        )  # fmt: skip
    )


def section_fill(page):
    page.section(
        "Data: the fill",
        f"""
One thread. `iobound`, `fio`: 1 MiB writes to the null engine, 8 in flight, every buffer filled anew,
{SECONDS} s. `dgen-py`: `fill_chunk` into 1 MiB, 4 GiB in all, `max_threads=1`. `calibrate` is the program's own
figure, with the same core's plain stores of a constant beside it: what no fill into memory can pass.""",
    )
    subjects = {
        "calibrate": lambda: json.loads(run([IOBOUND, "calibrate", "--json"])),
        "iobound": fill_by_null,
        "iobound, compress 2": lambda: fill_by_null(compress=2.0),
        "iobound, dedup 2": lambda: fill_by_null(dedup=2.0),
        "iobound, compress 3, dedup 3": lambda: fill_by_null(3.0, 3.0),
        "fio refill_buffers": fill_by_fio,
        "fio refill_buffers, compress 67%": lambda: fill_by_fio("--buffer_compress_percentage=67"),
    }
    if dgen_version():
        subjects["dgen-py"] = dgen
    results = in_turns(subjects)
    own = results.pop("calibrate")
    for name, field in [
        ("calibrate: fill into memory", "fill_bytes_per_s_per_core"),
        ("calibrate: fill within L2", "fill_cached_bytes_per_s_per_core"),
        ("calibrate: plain stores", "store_bytes_per_s_per_core"),
        ("calibrate: fill, all cores", "fill_bytes_per_s_all_cores"),
    ]:
        results[name] = [calibration[field] for calibration in own]
    page.table(["what", "GB/s"], [[name, spread(values, 1e9)] for name, values in results.items()])
    page.note("Clock: " + ", ".join(
        f"{name} {statistics.median(c[field] for c in own):.1f} ns"
        for name, field in [(own[0]["clock"], "clock_read_ns"), ("clock_gettime", "clock_gettime_ns")]
    ) + "; null engine by `calibrate`: " + spread([c["null_iops_per_core"] for c in own], 1e6) + " M IOPS per core.")
    median = {name: statistics.median(values) for name, values in results.items()}
    ratio = median["iobound"] / median["fio refill_buffers"]
    page.bar("fill, one thread, incompressible", "at least fio's refill_buffers", f"{ratio:.2f} x", ratio >= 1)
    if "dgen-py" in median:
        ratio = median["iobound"] / median["dgen-py"]
        page.bar("the same", "at least 4 x dgen-py", f"{ratio:.1f} x", ratio >= 4)
    worst = min((median[name], name) for name in median if name.startswith("iobound, "))
    ratio = worst[0] / median["iobound"]
    # Runs of one program differ by a few percent here; below that a difference means nothing.
    page.bar("fill with ratios", "no slower than without", f"{ratio:.2f} x ({worst[1]})", ratio >= 0.97)
    store = median["calibrate: fill into memory"] / median["calibrate: plain stores"]
    page.bar("fill, aim", "the core's own store limit", f"{store:.0%} of it", store >= 0.9)


# --- (d) known limits -------------------------------------------------------------------------


def section_throttle(page):
    page.section(
        "Devices with known limits",
        """
A loop device that the block I/O cgroup holds to its limit (`iobound-lab`), 5 s: how far each program's
reading is from the truth.""",
    )
    if os.geteuid() != 0:
        page.note("Not measured: needs root.")
        return
    rows = []
    for what, limit, truth, options, unit in [
        ("3,000 IOPS, 4 KiB random read, depth 32", ["--iops", "3000"], 3000.0, ("randread", "4k", 32), "IOPS"),
        ("125 MiB/s, 1 MiB sequential read, depth 4", ["--bytes-per-s", 125 * MIB], 125.0, ("read", "1m", 4), "MiB/s"),
    ]:
        rw, bs, depth = options
        before = [LAB, "with", *limit, "--"]
        # The volume's device is known only inside: fio's job files, which both read, take it from
        # the environment.
        job = (
            f"[bench]\nfilename=${{IOBOUND_DEVICE}}\nioengine=io_uring\ndirect=1\nrw={rw}\nbs={bs}\n"
            f"iodepth={depth}\ntime_based\nruntime=5\n"
        )
        results = in_turns({"iobound": lambda: by_job_file(job, before), "fio": lambda: fio_job_file(job, before)})
        index = 0 if unit == "IOPS" else 1
        scale = 1 if unit == "IOPS" else MIB
        for name, values in results.items():
            seen = [pair[index] / scale for pair in values]
            off = statistics.median(seen) / truth - 1
            rows.append([what, name, f"{spread(seen, form='{:,.1f}')} {unit}", f"{off:+.2%}"])
            if name == "iobound":
                worst = max(abs(value / truth - 1) for value in seen)
                page.bar(what, "within 1%", f"{off:+.2%}, worst of {RUNS} {worst:.2%}", worst <= 0.01)
    page.table(["device", "program", "reading", "off"], rows)


def by_job_file(job, before):
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
        path = Path(directory) / "job.fio"
        path.write_text(job)
        run([*before, IOBOUND, "run", path, "--out", f"{directory}/out", "--quiet"], cwd=directory)
        measurement = json.loads((Path(directory) / "out/run.json").read_text())["scenarios"][0]["measurement"]
    return iops_of(measurement), bytes_of(measurement)


def fio_job_file(job, before):
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
        path = Path(directory) / "job.fio"
        path.write_text(job)
        text = run([*before, "fio", "--output-format=json", path], cwd=directory)
    result = json.loads(text[text.index("{") :])["jobs"][0]
    return iops_of_fio(result), bytes_of_fio(result)


# --- (e) memory -------------------------------------------------------------------------------


def peak_bytes(job, *arguments):
    """Largest resident size of one run."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
        path = Path(directory)
        (path / "job.toml").write_text(job)
        command = [IOBOUND, "run", path / "job.toml", "--out", path / "out", "--quiet", *arguments]
        with open(path / "log", "w+") as log:
            child = subprocess.Popen([str(word) for word in command], cwd=directory, stdout=log, stderr=log)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode not in (0, 1):
                log.seek(0)
                raise RuntimeError(f"{command}: exit code {child.returncode}\n{log.read()}")
    return usage.ru_maxrss * 1024


def section_memory(page):
    page.section(
        "Memory",
        """
Peak resident size less the job's buffers (depth x block size x jobs).""",
    )
    rows, worst = [], 0.0
    for size_gib in (1, 4, 16, 64):
        for seconds in (2, 10):
            for jobs in (1, 4):
                buffers = 64 * 4096 * jobs
                job = toml(
                    rw="randread", bs="4k", iodepth=64, numjobs=jobs, size=f"{size_gib}GiB", time_based=True,
                    runtime=f"{seconds}s",
                )  # fmt: skip
                beside = peak_bytes(job, "--engine", "null") - buffers
                worst = max(worst, beside)
                rows.append([f"{size_gib} GiB", f"{seconds} s", str(jobs), f"{beside / MIB:.1f}"])
    page.table(["working set (null engine)", "run", "jobs", "MiB beside buffers"], rows)
    page.bar("memory, 1 to 64 GiB, 2 to 10 s", "buffers + 32 MiB", f"+ {worst / MIB:.1f} MiB", worst <= 32 * MIB)


# --- sampling ---------------------------------------------------------------------------------


def section_sampling(page):
    page.section(
        "Sampling",
        """
Processor time, user and kernel, of one look at all counters, which a run takes once a second. `live`: this
machine. `64 disks`: 64 disks under 8 arrays as captured files, so without the kernel's own counting.""",
    )
    run(["cargo", "build", "--release", "--quiet", "--package", "iobound-host", "--example", "sampler_cost"], cwd=ROOT)
    looks = [json.loads(run([ROOT / "target/release/examples/sampler_cost"])) for _ in range(RUNS)]
    per_row = [look["live_ns"] / look["live_rows"] for look in looks]
    page.table(
        ["machine", "us a look"],
        [
            [f"live, {looks[0]['live_rows']} rows in the table", spread([look["live_ns"] for look in looks], 1e3, "{:,.1f}")],
            [f"64 disks, {looks[0]['synthetic_devices']} rows", spread([look["synthetic_ns"] for look in looks], 1e3, "{:,.1f}")],
        ],
    )
    # Everything live, also what does not grow with devices, charged to each row: an upper bound.
    share = max(per_row) * looks[0]["synthetic_devices"] / 1e9
    page.bar("sampling once a second, 64 devices", "below 1% of a core", f"at most {share:.2%}", share < 0.01)


# --- the page ---------------------------------------------------------------------------------

SECTIONS = {
    "null": section_null,
    "device": section_device,
    "fill": section_fill,
    "throttle": section_throttle,
    "memory": section_memory,
    "sampling": section_sampling,
    "stream": lambda page: bench_stream.section(sys.modules[__name__], page),
    "suite": lambda page: bench_suite.section(sys.modules[__name__], page),
    "python": lambda page: bench_python.section(sys.modules[__name__], page),
}


def written(sections):
    """The page of all sections, each with the commit it was measured at where they differ."""
    machines = [dict(section["machine"]) for section in sections]
    same = {name: value for name, value in machines[0].items() if all(m.get(name) == value for m in machines)}
    differs = [name for name in machines[0] if name not in same]
    lines = [
        "# Performance",
        "",
        "Written by `make bench` (`scripts/bench.py`); run it to have these numbers of another machine. Medians",
        f"of {RUNS} runs in turns, with the range; only ratios within one run mean anything elsewhere.",
        "",
        "| machine | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in same.items()),
        "",
        "## What was asked",
        "",
        "| what | asked | measured | |",
        "|---|---|---|---|",
        *(f"| {' | '.join(bar)} |" for section in sections for bar in section["bars"]),
    ]
    for section, measured_on in zip(sections, machines):
        lines += section["lines"]
        if differs:
            lines += ["", "Measured: " + "; ".join(f"{name} {measured_on[name]}" for name in differs) + "."]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description="Measures iobound against fio and dgen-py.")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="only this section; may be repeated")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/PERFORMANCE.md")
    wanted = parser.parse_args()
    # So that `finally` runs and takes devices down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for program in (IOBOUND, LAB):
        if not program.exists():
            sys.exit(f"bench: {program} is missing; run `make bench`, which builds it")
    install()
    kept_path = wanted.out.with_suffix(".json")
    kept = json.loads(kept_path.read_text()) if wanted.only and kept_path.exists() else {}
    wanted.out.parent.mkdir(parents=True, exist_ok=True)
    for name in wanted.only or SECTIONS:
        page = Page()
        SECTIONS[name](page)
        kept[name] = page.kept()
        # After each: a section that fails must not take the others with it.
        kept_path.write_text(json.dumps(kept, indent=1) + "\n")
        wanted.out.write_text(written([kept[name] for name in SECTIONS if name in kept]))
    bars = [bar for section in kept.values() for bar in section["bars"]]
    missed = [bar[0] for bar in bars if bar[3] != "met"]
    print(f"\nwrote {wanted.out}; {len(bars) - len(missed)} of {len(bars)} bars met")
    for what in missed:
        print(f"  missed: {what}")


if __name__ == "__main__":
    main()
