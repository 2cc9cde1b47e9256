"""What hardware promises for a job, and what binds: `iobound ceilings`.

for row in iobound.ceilings(volumes=8, iops=3000, mibps=125, raid="10", kind="gp3"):
    print(row.scenario, row.iops, row.bound)
iobound.ceilings({"rw": "randread", "bs": "16k", "iodepth": 32}, context="my.toml")
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, List, Mapping, Optional, Sequence, Union

from .fields import Fields, PathLike, RecordError
from .job_text import Job as AskedJob
from .job_text import JobValue, assignment
from .program import IoboundError, ask
from .record import Ceiling, Job
from .runs import Quantity, context_argument, option_words

__all__ = ["Bound", "CeilingRow", "ceilings"]

#: A ceiling does not depend on how much is read or written, and a suite must say it.
_SIZE = "1GiB"


@dataclass(frozen=True)
class Bound:
    """One of the limits on a job."""

    #: `volume-iops`, `volume-bandwidth`, `instance-iops`, `instance-bandwidth`, `latency`, ...
    bound: str
    #: Operations per second that it allows.
    iops: float
    #: The arithmetic, in words.
    why: str

    @classmethod
    def of(cls, at: Fields) -> Bound:
        """Reads one."""
        return cls(at.text("bound"), at.real("iops"), at.text("why"))


@dataclass(frozen=True)
class CeilingRow:
    """A job with its ceiling on a layout."""

    #: The layout, in words: `raid10 of 8 x gp3 (3,000 IOPS, 125 MiB/s), chunk 64 KiB`.
    layout: str
    scenario_id: int
    scenario: str
    job: Job = field(repr=False)
    #: What the layout sustains; None where nothing is promised that holds the job.
    ceiling: Optional[Ceiling]
    #: What it does for a while, where a machine has a burst.
    burst: Optional[Ceiling]
    #: All limits, the one that binds first.
    bounds: Sequence[Bound] = field(repr=False)
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def iops(self) -> Optional[float]:
        """Operations per second that it sustains."""
        return self.ceiling.iops if self.ceiling else None

    @property
    def bandwidth_bytes_per_s(self) -> Optional[float]:
        """Bytes per second that it sustains."""
        return self.ceiling.bandwidth_bytes_per_s if self.ceiling else None

    @property
    def bound(self) -> Optional[str]:
        """What binds."""
        return self.ceiling.bound if self.ceiling else None

    @classmethod
    def of(cls, layout: str, at: Fields) -> CeilingRow:
        """Reads one."""
        ceiling, burst = at.optional_child("ceiling"), at.optional_child("burst")
        return cls(
            layout=layout,
            scenario_id=at.count("id"),
            scenario=at.text("name"),
            job=Job.of(at.child("job")),
            ceiling=Ceiling.of(ceiling) if ceiling else None,
            burst=Ceiling.of(burst) if burst else None,
            bounds=tuple(Bound.of(bound) for bound in at.children("bounds")),
            raw=at.raw,
        )


def ceilings(
    what: Union[None, PathLike, AskedJob, Sequence[AskedJob]] = None,
    *,
    context: Union[None, PathLike, Mapping[str, Any]] = None,
    role: str = "data",
    volumes: Optional[int] = None,
    iops: Optional[int] = None,
    mibps: Optional[float] = None,
    raid: Union[None, int, str] = None,
    chunk: Optional[Quantity] = None,
    kind: Optional[str] = None,
    latency: Optional[Quantity] = None,
    sync_latency: Optional[Quantity] = None,
    instance_iops: Optional[int] = None,
    instance_mbps: Optional[float] = None,
) -> List[CeilingRow]:
    """The ceiling of each job on a layout.

    `what` is a suite by name or file (else `"database"`), or a job as a mapping of fio's option
    names to values, or several of them. The layout is a `context` (by name, by file, or as
    `Run.context` has it; `role` says which of its file systems jobs go to, `"data"` or `"wal"`), or
    so many `volumes` with `iops` and `mibps` (MiB/s) each, joined as `raid` says: 0, 1, 5, 6, 10 or
    "linear". `kind` ("gp3") says how large an operation counts as one, `latency` and `sync_latency`
    are those of one idle volume, and `instance_iops` and `instance_mbps` (MB/s) what the machine
    sustains to all of them.

    Raises IoboundError for a layout that cannot be, or that promises nothing.
    """
    options = option_words(
        volumes=volumes, iops=iops, mibps=mibps, raid=raid, chunk=chunk, kind=kind, latency=latency,
        sync_latency=sync_latency, instance_iops=instance_iops, instance_mbps=instance_mbps,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="iobound-") as scratch:
        if context is not None:
            options.append(f"--context={context_argument(context, Path(scratch))}")
        suite = _suite(what, role, Path(scratch))
        answer = ask(["ceilings", "--json", *options, *([] if suite is None else ["--", suite])])
    if answer.interrupted:
        raise KeyboardInterrupt
    if answer.exit_code != 0:
        raise IoboundError(answer.message, answer.exit_code)
    rows = _rows(answer.output)
    if not rows:
        raise IoboundError(f"the context has no file system with the role '{role}' for these jobs")
    return rows


def _suite(
    what: Union[None, PathLike, AskedJob, Sequence[AskedJob]], role: str, scratch: Path
) -> Optional[str]:
    """The suite to ask about; jobs that are given as values become one."""
    if what is None:
        return None
    if isinstance(what, (str, os.PathLike)):
        return str(os.fspath(what))
    jobs = [what] if isinstance(what, Mapping) else list(what)
    if not jobs:
        raise TypeError("several jobs are a list of mappings, one each, and at least one")
    path = scratch / "jobs.toml"
    lines = [assignment("name", "jobs")]
    for number, job in enumerate(jobs, start=1):
        if not isinstance(job, Mapping):
            raise TypeError(f"a job is a mapping of options to values, not {type(job).__name__}")
        # Where the file lies has no bearing on what the hardware allows.
        options: Mapping[str, JobValue] = {
            "size": _SIZE,
            **{key: job[key] for key in job if key not in ("name", "filename", "directory")},
        }
        name = job.get("name", f"job{number}" if len(jobs) > 1 else "job")
        lines += ["", "[[scenario]]", assignment("id", number), assignment("name", name)]
        lines += [assignment("volume", role), assignment("job", options)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return os.fspath(path)


def _rows(output: str) -> List[CeilingRow]:
    file = "the answer of 'iobound ceilings --json'"
    try:
        parts = json.loads(output)
    except ValueError as error:
        raise RecordError(
            file, "", f"is not JSON: {error}", "use the program of this package"
        ) from error
    if not isinstance(parts, list):
        raise RecordError(file, "", "is no list", "use the program of this package")
    rows: List[CeilingRow] = []
    for index, part in enumerate(parts):
        layout = Fields(part, file, f"[{index}]")
        rows += [CeilingRow.of(layout.text("layout"), row) for row in layout.children("scenarios")]
    return rows
