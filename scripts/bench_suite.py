"""The section of bench.py about the database suite: ten scenarios on two virtual volumes of known limits, in
full and with --until-steady.

Called by bench.py, which passes itself; see its head for how sections run.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

IOPS, MIBPS = 3000, 125
# What is laid out takes its time at the volume's pace; the scenarios do not depend on it.
SIZE = "1GiB"
# What binds each scenario on such a volume: 32 KiB at 3,000 operations/s (scenario 6) are 94 MiB/s, below
# the bandwidth. Scenarios 1 and 3 have one operation in flight, and nobody promised their time.
BOUNDS = {
    2: "volume-iops", 6: "volume-iops", 8: "volume-iops", 9: "volume-iops",
    4: "volume-bandwidth", 5: "volume-bandwidth", 7: "volume-bandwidth", 10: "volume-bandwidth",
}  # fmt: skip


def section(bench, page):
    page.section(
        "The database suite",
        f"""
`iobound run database` on two volumes of `iobound lab up` with {IOPS:,} IOPS and {MIBPS} MiB/s each: once as it is,
60 s a scenario, and once with `--until-steady`. Both with the suite's pauses and a file of {SIZE} on each volume,
laid out anew. The ceiling is that of the context.""",
    )
    if os.geteuid() != 0:
        page.note("Not measured: needs root.")
        return
    with tempfile.TemporaryDirectory(prefix=bench.SCRATCH) as directory:
        whole, steady, seconds, page_bytes, page_seconds = measured(bench, Path(directory))
    rows, apart, shares, wrong = [], [], [], []
    for full, short in zip(whole["scenarios"], steady["scenarios"]):
        means = [bench.iops_of(one["measurement"]) for one in (full, short)]
        apart.append(means[1] / means[0] - 1)
        ceiling, verdict = full.get("ceiling"), full["verdict"]
        share = verdict.get("percent_of_ceiling")
        if full["id"] in BOUNDS:
            shares.append(share or 0.0)
            if not ceiling or ceiling["bound"] != BOUNDS[full["id"]] or verdict["status"] != "ok":
                wrong.append(full["id"])
        rows.append([
            str(full["id"]), full["name"], f"{means[0]:,.1f}",
            f"{share:.1f}% ({ceiling['bound']})" if ceiling and share else "-",
            f"{means[1]:,.1f}", f"{apart[-1]:+.2%}", f"{short['measurement']['runtime_ns'] / 1e9:.1f}",
        ])  # fmt: skip
    page.table(["#", "scenario", "IOPS, 60 s", "of the ceiling", "IOPS, until steady", "differs by", "s, until steady"], rows)
    page.note(f"The whole command took {seconds[0]:.0f} s, and {seconds[1]:.0f} s with `--until-steady`.")
    bound = "every bound right" if not wrong else f"wrong: {wrong}"
    inside = not wrong and all(97 <= share <= 101 for share in shares)
    page.bar("database suite on volumes of known limits", "97% to 101% of the ceiling, right bound", f"{min(shares):.1f}% to {max(shares):.1f}%, {bound}", inside)
    page.bar("--until-steady, time of the suite", "under a third", f"{seconds[1] / seconds[0]:.0%}", seconds[1] * 3 < seconds[0])
    worst = max(apart, key=abs)
    held = max((one for one, full in zip(apart, whole["scenarios"]) if full["id"] in BOUNDS), key=abs)
    page.bar("--until-steady, means where the volume binds", "within 2%", f"{held:+.2%}", abs(held) <= 0.02)
    page.note(
        f"Scenarios 1 and 3 wait for this machine's own disk, which promises nothing; with them the largest difference "
        f"is {worst:+.2%}."
    )
    page.bar("HTML page of the suite", "under 2 MB, under 1 s", f"{page_bytes / 1e6:.2f} MB, {page_seconds:.2f} s", page_bytes < 2e6 and page_seconds < 1)


def measured(bench, directory):
    mounts = {role: directory / role for role in ("data", "wal")}
    volumes = []
    for role, mount in mounts.items():
        mount.mkdir()
        volumes += ["--volume", f"{name(role)}={IOPS}iops,{MIBPS}MiBps,2GiB,fs=xfs,mount={mount}"]
    bench.run([bench.IOBOUND, "lab", "up", *volumes])
    try:
        context = directory / "context.toml"
        context.write_text("schema = 1\nname = \"two-volumes\"\n" + "".join(promised(role, mounts[role]) for role in mounts))
        runs, seconds = [], []
        for which, more in (("whole", []), ("steady", ["--until-steady"])):
            out = directory / which
            command = [
                bench.IOBOUND, "run", "database", "--data", mounts["data"], "--wal", mounts["wal"], "--size", SIZE,
                "--context", context, "--out", out, "--quiet", *more,
            ]  # fmt: skip
            began = time.monotonic()
            # Longer than bench.run allows.
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
            seconds.append(time.monotonic() - began)
            if done.returncode not in (0, 1):
                raise RuntimeError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
            runs.append(json.loads((out / "run.json").read_text()))
        html = directory / "page.html"
        began = time.monotonic()
        bench.run([bench.IOBOUND, "report", directory / "whole", "--format", "html", "--out", html])
        return *runs, seconds, html.stat().st_size, time.monotonic() - began
    finally:
        bench.run([bench.IOBOUND, "lab", "down", *(name(role) for role in mounts)])


def name(role):
    """Of a volume; two benches at once do not meet."""
    return f"bench{os.getpid()}{role}"


def promised(role, mount):
    return (
        f'[[volume]]\nname = "{role}"\nkind = "virtual"\nsize = "2GiB"\niops = {IOPS}\n'
        f'bandwidth = "{MIBPS}MiB/s"\n[[filesystem]]\non = "{role}"\nkind = "xfs"\nmount = "{mount}"\nrole = "{role}"\n'
    )
