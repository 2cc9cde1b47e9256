"""The record of a run (`run.json`) as typed objects.

Each object keeps the JSON that it was read from as `raw`, which has every field of the record; the
attributes are those that people ask for. Times are nanoseconds (`_ns`), sizes bytes, bandwidths
bytes per second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union

from .fields import Fields, RecordError
from .measurement import DirectionStats, Interval, Measurement

if TYPE_CHECKING:
    import pandas as _pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars as _polars  # type: ignore[import-not-found,unused-ignore]

#: Version of the record's shape that this package reads.
SCHEMA_VERSION = 1

#: The marks, the worst first, with what a run's verdict says of so many scenarios.
MARKS = {
    "failed": "without a result",
    "errors": "with failed operations",
    "void": "void",
    "cut": "cut short",
    "short": "short of their ceiling",
    "above": "above their ceiling",
    "unknown": "without a ceiling",
    "ok": "at their ceiling",
}

_RW = ("read", "write", "randread", "randwrite", "rw", "randrw")
_STATUS = ("ok", "short", "above", "unknown")
_SEVERITIES = ("note", "warning", "error")
_ANSWERS = ("yes", "close", "no")


@dataclass(frozen=True)
class Job:
    """What was asked, in fio's words; `raw` has all options."""

    name: str
    #: `read`, `write`, `randread`, `randwrite`, `rw` or `randrw`.
    rw: str
    #: Block size in bytes; of several, the largest.
    bs: int
    #: Operations in flight in each thread.
    iodepth: int
    #: Threads.
    numjobs: int
    #: Share of reads of a mixed job, percent.
    rwmixread: int
    #: Whether the page cache is passed by.
    direct: bool
    #: Writes after which an fdatasync follows; 0 for never.
    fdatasync: int
    #: Writes after which an fsync follows; 0 for never.
    fsync: int
    #: Durability by open flags: `none`, `sync` or `dsync`.
    sync: str
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def read_percent(self) -> int:
        """Share of operations that read."""
        fixed = {"read": 100, "randread": 100, "write": 0, "randwrite": 0}
        return fixed.get(self.rw, self.rwmixread)

    @property
    def in_flight(self) -> int:
        """Operations in flight, all threads together."""
        return self.iodepth * self.numjobs

    @property
    def is_random(self) -> bool:
        """Whether offsets are random."""
        return self.rw.startswith("rand")

    @classmethod
    def of(cls, at: Fields) -> Job:
        """Reads one."""
        return cls(
            name=at.text("name"),
            rw=at.word("rw", _RW, "read"),
            bs=at.count("bs", 4096),
            iodepth=at.count("iodepth", 1),
            numjobs=at.count("numjobs", 1),
            rwmixread=at.count("rwmixread", 50),
            direct=at.flag("direct", True),
            fdatasync=at.count("fdatasync"),
            fsync=at.count("fsync"),
            sync=at.text("sync", "none"),
            raw=at.raw,
        )


@dataclass(frozen=True)
class Ceiling:
    """How fast a job could be, and what holds it there."""

    #: Operations per second.
    iops: float
    #: Bytes per second.
    bandwidth_bytes_per_s: float
    #: What binds: `volume-iops`, `volume-bandwidth`, `instance-bandwidth`, `latency`, ...
    bound: str
    #: The arithmetic, in words.
    why: str
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, at: Fields) -> Ceiling:
        """Reads one."""
        for name in ("iops", "bandwidth_bytes_per_s", "bound", "why"):
            at.required(name)
        iops, bandwidth = at.real("iops"), at.real("bandwidth_bytes_per_s")
        return cls(iops, bandwidth, at.text("bound"), at.text("why"), at.raw)


@dataclass(frozen=True)
class TargetOutcome:
    """One figure that was asked of a scenario (`target=`) beside what was measured, as text."""

    what: str
    asked: str
    measured: str
    met: bool

    @classmethod
    def of(cls, at: Fields) -> TargetOutcome:
        """Reads one."""
        return cls(at.text("what"), at.text("asked"), at.text("measured"), at.flag("met"))


@dataclass(frozen=True)
class Verdict:
    """The judgement of one scenario."""

    #: `ok`, `short`, `above` or `unknown` (no ceiling to compare with).
    status: str
    #: Measured over ceiling, percent; None without a ceiling.
    percent_of_ceiling: Optional[float]
    #: In a sentence.
    says: str
    #: Ids of the findings that touch the scenario.
    findings: Tuple[str, ...]
    #: What was asked of it.
    targets: Tuple[TargetOutcome, ...]
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, at: Fields) -> Verdict:
        """Reads one."""
        return cls(
            status=at.word("status", _STATUS, "unknown"),
            percent_of_ceiling=at.optional_real("percent_of_ceiling"),
            says=at.text("says"),
            findings=tuple(at.texts("findings")),
            targets=tuple(TargetOutcome.of(target) for target in at.children("targets")),
            raw=at.raw,
        )


@dataclass(frozen=True)
class Finding:
    """Something that the run noticed, with its evidence and what to do."""

    id: str
    #: `note`, `warning` (the numbers mean something else than they seem to) or `error` (they do
    #: not stand).
    severity: str
    what: str
    evidence: str
    remedy: str

    @classmethod
    def of(cls, at: Fields) -> Finding:
        """Reads one."""
        for name in ("id", "severity", "what", "evidence", "remedy"):
            at.required(name)
        severity = at.word("severity", _SEVERITIES, "note")
        return cls(at.text("id"), severity, at.text("what"), at.text("evidence"), at.text("remedy"))


@dataclass(frozen=True)
class Fit:
    """A published figure held against what was measured: is the storage fit for that system?"""

    id: str
    system: str
    #: What its document asks.
    asks: str
    #: `yes`, `close` or `no`.
    answer: str
    evidence: str
    #: Number of the scenario that it was measured in.
    scenario: int
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, at: Fields) -> Fit:
        """Reads one."""
        for name in ("id", "system", "asks", "answer", "evidence", "scenario"):
            at.required(name)
        answer = at.word("answer", _ANSWERS, "no")
        return cls(
            at.text("id"), at.text("system"), at.text("asks"), answer,
            at.text("evidence"), at.count("scenario"), at.raw,
        )  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """One job of a run with everything said about it."""

    #: Number within its suite.
    id: int
    name: str
    #: Name for people; empty when there is none but `name`.
    title: str
    #: The figure it is run for: `iops`, `bandwidth`, `latency` or `sync-p99`.
    metric: str
    #: `data`, `wal` or empty.
    volume: str
    phase: int
    #: The sweep that it is a point of; empty when it is none.
    sweep: str
    job: Job
    #: The equivalent fio command.
    fio: str
    #: None when it did not run or broke.
    measurement: Optional[Measurement]
    ceiling: Optional[Ceiling]
    verdict: Verdict
    #: Why there is no measurement.
    error: Optional[str]
    #: How it stands, in the words of iobound's reports: `ok`, `short`, `above`, `unknown`, `cut`
    #: (ended before its time), `void` (a finding says that its number does not stand), `errors`
    #: (operations failed) or `failed` (no result).
    mark: str
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.title or self.name or self.job.name or "unnamed"

    @property
    def series(self) -> Tuple[Interval, ...]:
        """Its intervals; empty without a measurement."""
        return self.measurement.series if self.measurement else ()

    @classmethod
    def of(cls, at: Fields, voiding: List[str]) -> Scenario:
        """Reads one. `voiding` are the findings that make numbers void."""
        measured, ceiling = at.optional_child("measurement"), at.optional_child("ceiling")
        measurement = Measurement.of(measured) if measured else None
        verdict = Verdict.of(at.child("verdict"))
        return cls(
            id=at.count("id"),
            name=at.text("name"),
            title=at.text("title"),
            metric=at.text("metric", "iops"),
            volume=at.text("volume"),
            phase=at.count("phase"),
            sweep=at.text("sweep"),
            job=Job.of(at.child("job")),
            fio=at.text("fio"),
            measurement=measurement,
            ceiling=Ceiling.of(ceiling) if ceiling else None,
            verdict=verdict,
            error=at.optional_text("error"),
            mark=_mark(measurement, verdict, voiding),
            raw=at.raw,
        )


def _mark(measured: Optional[Measurement], verdict: Verdict, voiding: List[str]) -> str:
    if measured is None:
        return "failed"
    if measured.errors > 0:
        return "errors"
    if any(finding in voiding for finding in verdict.findings):
        return "void"
    return "cut" if measured.interrupted else verdict.status


@dataclass(frozen=True)
class RunVerdict:
    """How a run stands: how many of its scenarios have which mark (`Scenario.mark`)."""

    #: Scenarios by mark, the worst mark first; marks that none has are left out.
    counts: Mapping[str, int]

    @property
    def status(self) -> str:
        """The worst mark among the scenarios; `failed` for a run without one."""
        return next(iter(self.counts), "failed")

    @property
    def ok(self) -> bool:
        """Whether every scenario is at its ceiling."""
        return self.status == "ok"

    @property
    def says(self) -> str:
        """In a line: `2 of 10 scenarios short of their ceiling, 8 at their ceiling`."""
        if not self.counts:
            return "nothing was measured"
        total = sum(self.counts.values())
        if len(self.counts) == 1:
            words = MARKS[self.status]
            if total == 1:
                return f"the one scenario is {words.replace('their', 'its')}"
            return f"all {total} scenarios are {words}"
        parts = [f"{count} {MARKS[mark]}" for mark, count in self.counts.items()]
        first, rest = parts[0].split(" ", 1)
        return ", ".join([f"{first} of {total} scenarios {rest}", *parts[1:]])

    @classmethod
    def of(cls, scenarios: Tuple[Scenario, ...]) -> RunVerdict:
        """Counts them."""
        marks = [scenario.mark for scenario in scenarios]
        return cls({mark: marks.count(mark) for mark in MARKS if mark in marks})


@dataclass(frozen=True)
class SeriesPoint:
    """One interval of one direction of one scenario."""

    scenario: Scenario = field(repr=False)
    #: `read`, `write` or `sync`.
    direction: str
    #: From the start of the scenario's measured time.
    start_s: float
    length_s: float
    stats: DirectionStats = field(repr=False)


@dataclass(frozen=True)
class Run:
    """A run: what `run.json` holds. Made by `load` and `run`."""

    #: Version of the program that made it.
    iobound: str
    #: Unique name.
    id: str
    #: Start, RFC 3339.
    started: str
    #: Suite or job file.
    suite: str
    #: The command, as typed.
    command: Tuple[str, ...]
    scenarios: Tuple[Scenario, ...] = field(repr=False)
    findings: Tuple[Finding, ...] = field(repr=False)
    fit: Tuple[Fit, ...] = field(repr=False)
    #: Sentences that sum the run up: what binds where.
    conclusions: Tuple[str, ...] = field(repr=False)
    #: Whether it was cut short.
    interrupted: bool
    #: The record's own file.
    path: Path
    #: The whole record. Made by `json`: changing it changes nothing else.
    raw: Mapping[str, Any] = field(repr=False)
    #: What the program ended with when it made this run: 0, or 1 where a check failed or the
    #: numbers do not stand, or 4 where it broke or was interrupted. None for a run that was loaded.
    exit_code: Optional[int] = None

    @property
    def host(self) -> Mapping[str, Any]:
        """The machine and what is under the targets."""
        return _object(self.raw, "host") or {}

    @property
    def context(self) -> Optional[Mapping[str, Any]]:
        """The hardware context that the run was held against."""
        return _object(self.raw, "context")

    @property
    def verdict(self) -> RunVerdict:
        """How the run stands as a whole; each scenario has a `verdict` of its own."""
        return RunVerdict.of(self.scenarios)

    @property
    def series(self) -> List[SeriesPoint]:
        """All intervals of all scenarios, each direction by itself."""
        return [
            SeriesPoint(scenario, name, each.start_ns / 1e9, each.length_ns / 1e9, stats)
            for scenario in self.scenarios
            for each in scenario.series
            for name, stats in each.sides()
        ]

    def scenario(self, which: Union[int, str]) -> Scenario:
        """The scenario with that number or name.

        Raises KeyError, which names those there are; ValueError where several have that name.
        """
        found = [each for each in self.scenarios if which in (each.id, each.name)]
        if not found:
            known = ", ".join(f"{each.id} ({each.name})" for each in self.scenarios)
            raise KeyError(f"no scenario {which!r}; there are {known or 'none'}")
        if len(found) > 1:
            raise ValueError(f"{len(found)} scenarios are {which!r}; use Run.scenarios")
        return found[0]

    def to_pandas(self, frame: str = "scenarios") -> _pandas.DataFrame:
        """A table: one row a scenario, or with `frame="series"` one an interval and direction.

        Columns carry their unit in the name. Needs pandas: ``pip install iobound[pandas]``.
        """
        from .frames import to_pandas

        return to_pandas(self, frame)

    def to_polars(self, frame: str = "scenarios") -> _polars.DataFrame:
        """The table of `to_pandas` as polars has it: ``pip install iobound[polars]``."""
        from .frames import to_polars

        return to_polars(self, frame)

    @property
    def label(self) -> str:
        """What was run, for people: the suite, or the name of the job file."""
        return Path(self.suite).stem if "/" in self.suite or "." in self.suite else self.suite

    def __str__(self) -> str:
        return f"{self.label}, {self.started}: {self.verdict.says}"

    @classmethod
    def of(cls, raw: Dict[str, Any], path: Path, exit_code: Optional[int] = None) -> Run:
        """The run that a JSON object holds; raises RecordError where it is none."""
        at = Fields(raw, str(path))
        _check_version(at)
        for name in ("iobound", "id", "started", "suite", "host"):
            at.required(name)
        at.child("host")
        at.optional_child("context")
        findings = tuple(Finding.of(finding) for finding in at.children("findings"))
        voiding = [finding.id for finding in findings if finding.severity == "error"]
        return cls(
            iobound=at.text("iobound"),
            id=at.text("id"),
            started=at.text("started"),
            suite=at.text("suite"),
            command=tuple(at.texts("command")),
            scenarios=tuple(Scenario.of(each, voiding) for each in at.children("scenarios")),
            findings=findings,
            fit=tuple(Fit.of(fit) for fit in at.children("fit")),
            conclusions=tuple(at.texts("conclusions")),
            interrupted=at.flag("interrupted"),
            path=path,
            raw=raw,
            exit_code=exit_code,
        )


def _object(raw: Mapping[str, Any], name: str) -> Optional[Mapping[str, Any]]:
    value = raw.get(name)
    return value if isinstance(value, dict) else None


def _check_version(at: Fields) -> None:
    if "fio version" in at.raw:
        raise RecordError(
            at.file,
            "",
            "is what fio writes, and not an iobound record",
            "run the same job file with engine='fio', which keeps one",
        )
    if "schema" not in at.raw:
        raise RecordError(
            at.file,
            "",
            "has no field 'schema', so it is not an iobound record",
            "give a run.json that 'iobound run' wrote",
        )
    schema, version = at.raw["schema"], at.raw.get("iobound")
    if isinstance(schema, bool) or not isinstance(schema, int):
        remedy = f"take the original; it is {SCHEMA_VERSION} in a record of this version"
        raise at.fault("schema", f"{str(schema)[:40]!r} is not a version", remedy)
    if schema > SCHEMA_VERSION:
        wrote = version if isinstance(version, str) else "version unknown"
        cause = f"{schema} is of a newer iobound ({wrote}), and this one reads {SCHEMA_VERSION}"
        raise at.fault("schema", cause, "use that version or a later one")
    if schema < SCHEMA_VERSION:
        cause = f"{schema} is older than the {SCHEMA_VERSION} that this iobound reads"
        raise at.fault("schema", cause, "load it with the version that wrote it, or run again")
