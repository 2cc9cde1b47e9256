"""Makes the records in tests/data anew, by the real program on temporary directories.

    IOBOUND_PROGRAM=target/debug/iobound python3 python/tests/capture.py

Needs root, for virtual volumes. What names the machine or its other programs is taken out; no
figure is touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, List

DATA = Path(__file__).parent / "data"

CONTEXT = """
schema = 1
name = "two-volumes"
description = "A volume for data and one for the log"
[[volume]]
name = "data"
kind = "gp3"
size = "20GiB"
iops = 800
bandwidth = "25MiB/s"
[[volume]]
name = "wal"
kind = "gp3"
size = "20GiB"
iops = 600
bandwidth = "25MiB/s"
[[filesystem]]
on = "data"
kind = "ext4"
mount = "/mnt/data"
role = "data"
[[filesystem]]
on = "wal"
kind = "ext4"
mount = "/mnt/wal"
role = "wal"
"""

# The volumes are the lab's. They have the limits that the context promises, but for the operations
# of data, so that one scenario falls short.
VOLUME = "capture-{0}=600iops,25MiBps,1GiB,latency=1ms,fs=ext4,mount={1}/{0}"

DATABASE = """
name = "database"
phases = ["Latency", "Bandwidth", "Operations"]
[job]
direct = 1
time_based = 1
runtime = "2s"
size = "64MiB"
[[scenario]]
id = 1
name = "sync-latency"
title = "Sync Latency"
volume = "wal"
metric = "latency"
job = { rw = "write", bs = "8k", fdatasync = 1 }
[[scenario]]
id = 3
name = "read-latency"
title = "Random Read Latency"
metric = "latency"
job = { rw = "randread", bs = "8k" }
[[scenario]]
id = 4
name = "seq-read"
title = "Sequential Read Bandwidth"
phase = 2
metric = "bandwidth"
job = { rw = "read", bs = "1m", iodepth = 8 }
[[scenario]]
id = 5
name = "wal-seq-write"
title = "Sequential Write Bandwidth"
volume = "wal"
phase = 2
metric = "bandwidth"
job = { rw = "write", bs = "1m", iodepth = 8 }
[[scenario]]
id = 2
name = "mixed"
title = "Mixed 70/30"
phase = 3
job = { rw = "randrw", rwmixread = 70, bs = "8k", iodepth = 32 }
[[scenario]]
id = 8
name = "rand-write"
title = "Random Writes"
phase = 3
job = { rw = "randwrite", bs = "8k", iodepth = 2 }
"""

SWEEP = """
name = "sweep"
[job]
direct = 1
time_based = 1
runtime = "500ms"
size = "32MiB"
[sweep]
bs = ["4k", "16k", "64k", "256k", "1m"]
numjobs = [1, 4]
[[sweep.pattern]]
name = "rand-read"
title = "Random read"
job = { rw = "randread" }
[[sweep.pattern]]
name = "seq-write"
title = "Sequential write"
job = { rw = "write" }
"""


def capture(name: str, arguments: List[str], virtual: bool = False) -> None:
    """Runs the program in a new directory and keeps its record as `name`.json. With `virtual` the
    directories data and wal are volumes of the lab, which needs root."""
    program = os.path.abspath(os.environ["IOBOUND_PROGRAM"])
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as after:
        home = Path(place)
        for volume in ("data", "wal"):
            (home / volume).mkdir()
            if virtual:
                up = [program, "lab", "up", "--volume", VOLUME.format(volume, place)]
                after.callback(subprocess.call, [program, "lab", "down", f"capture-{volume}"])
                subprocess.check_call(up)
        (home / "two-volumes.toml").write_text(CONTEXT)
        (home / "database.toml").write_text(DATABASE)
        (home / "sweep.toml").write_text(SWEEP)
        options = ["--quiet", "--out", "out", *arguments]
        # 0, or 1 where the numbers fall short.
        code = subprocess.call([program, "run", *options], cwd=home, stdout=subprocess.DEVNULL)
        assert code in (0, 1), code
        text = (home / "out" / "run.json").read_text().replace(place, "/mnt")
    record = json.loads(text)
    anonymous(record)
    DATA.mkdir(exist_ok=True)
    (DATA / f"{name}.json").write_text(json.dumps(record, separators=(",", ":")) + "\n")


def anonymous(record: Any) -> None:
    """Takes out what names the machine, its checks, and what else ran on it."""
    record["command"][0] = "iobound"
    record["checks"] = []
    record["host"].update(kernel="6.1.0", cpu_model="processor")
    for target in record["host"]["targets"]:
        target["mount_options"] = "rw"
    for scenario in record["scenarios"]:
        scenario.pop("samples", None)
        verdict = scenario["verdict"]
        verdict["findings"] = [
            each for each in verdict["findings"] if not each.startswith("check-")
        ]
    # A check of the host tells of its kernel log.
    record["findings"] = [
        each for each in record["findings"] if not each["id"].startswith("check-")
    ]
    for finding in record["findings"]:
        finding["evidence"] = finding["evidence"].split("; meanwhile")[0]
        # The kernel's log again, as one cause among others.
        cause = r"(?:; )?\d+\. the kernel's log.*?errors(?=;|$)"
        finding["evidence"] = re.sub(cause, "", finding["evidence"])


if __name__ == "__main__":
    quick = ["quick", "--data", "data", "--runtime", "1", "--size", "32m", "--interval", "250ms"]
    capture("quick", quick)
    capture(
        "database",
        ["database.toml", "--data", "data", "--wal", "wal", "--context", "two-volumes.toml"]
        + ["--interval", "100ms"],
        virtual=True,
    )
    capture("sweep", ["sweep.toml", "--data", "data"])
