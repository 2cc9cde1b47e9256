"""What one job measured: rates, latencies and the series, as the record has them.

Times are nanoseconds (`_ns`), sizes bytes, bandwidths bytes per second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Optional, Tuple

from .fields import Fields

#: What an operation did, in the order of the record.
DIRECTIONS = ("read", "write", "sync")

#: The percentiles of the record: rank in percent, and the name of its field.
_PERCENTILES = (
    (1.0, "p1"), (5.0, "p5"), (10.0, "p10"), (20.0, "p20"), (30.0, "p30"), (40.0, "p40"),
    (50.0, "p50"), (60.0, "p60"), (70.0, "p70"), (80.0, "p80"), (90.0, "p90"), (95.0, "p95"),
    (99.0, "p99"), (99.5, "p99_5"), (99.9, "p99_9"), (99.95, "p99_95"), (99.99, "p99_99"),
)  # fmt: skip


@dataclass(frozen=True)
class Latency:
    """A distribution of times. All but the percentiles are exact; those are within 1%."""

    min_ns: int
    mean_ns: float
    stddev_ns: float
    max_ns: int
    #: Value in nanoseconds by rank in percent: 1.0, 5.0, ... 99.0, 99.5, 99.9, 99.95, 99.99.
    percentiles_ns: Mapping[float, int]
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def p50_ns(self) -> int:
        """The median."""
        return self.percentiles_ns[50.0]

    @property
    def p95_ns(self) -> int:
        """95 of 100 operations took at most this."""
        return self.percentiles_ns[95.0]

    @property
    def p99_ns(self) -> int:
        """99 of 100 operations took at most this."""
        return self.percentiles_ns[99.0]

    @property
    def p99_9_ns(self) -> int:
        """999 of 1000 operations took at most this."""
        return self.percentiles_ns[99.9]

    @classmethod
    def of(cls, at: Fields) -> Latency:
        """Reads one."""
        percentiles = {rank: at.count(name) for rank, name in _PERCENTILES}
        return cls(
            min_ns=at.count("min"),
            mean_ns=at.real("mean"),
            stddev_ns=at.real("stddev"),
            max_ns=at.count("max"),
            percentiles_ns=percentiles,
            raw=at.raw,
        )


@dataclass(frozen=True)
class DirectionStats:
    """Reads, writes or syncs of a job or of an interval."""

    #: Operations that completed.
    ios: int
    #: Bytes that they moved.
    bytes: int
    #: Operations per second.
    iops: float
    #: Bytes per second.
    bandwidth_bytes_per_s: float
    #: From just before submission to completion.
    latency: Latency
    #: With a rate set: from the scheduled start.
    scheduled_latency: Optional[Latency]
    #: Operations that moved fewer bytes than asked.
    short_ios: int
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, at: Fields) -> DirectionStats:
        """Reads one."""
        scheduled = at.optional_child("scheduled_latency_ns")
        return cls(
            ios=at.count("ios"),
            bytes=at.count("bytes"),
            iops=at.real("iops"),
            bandwidth_bytes_per_s=at.real("bandwidth_bytes_per_s"),
            latency=Latency.of(at.child("latency_ns")),
            scheduled_latency=Latency.of(scheduled) if scheduled else None,
            short_ios=at.count("short_ios"),
            raw=at.raw,
        )


@dataclass(frozen=True)
class Interval:
    """One interval of the series with its own rates and percentiles, not cumulative."""

    #: From the start of the measured time.
    start_ns: int
    #: The last one may be shorter than the others.
    length_ns: int
    read: Optional[DirectionStats]
    write: Optional[DirectionStats]
    sync: Optional[DirectionStats]
    raw: Mapping[str, Any] = field(repr=False)

    def sides(self) -> Iterator[Tuple[str, DirectionStats]]:
        """What completed in it: `read`, `write` or `sync`, with its figures."""
        for name, stats in zip(DIRECTIONS, (self.read, self.write, self.sync)):
            if stats is not None:
                yield name, stats

    @classmethod
    def of(cls, at: Fields) -> Interval:
        """Reads one."""
        sides = [at.optional_child(name) for name in DIRECTIONS]
        read, write, sync = (DirectionStats.of(side) if side else None for side in sides)
        return cls(at.count("start_ns"), at.count("length_ns"), read, write, sync, at.raw)


@dataclass(frozen=True)
class Measurement:
    """What one job measured."""

    #: The engine that ran.
    engine: str
    #: Measured time.
    runtime_ns: int
    #: Whether the rate held still; None where there were too few intervals to tell.
    steady: Optional[bool]
    #: Ended before its time.
    interrupted: bool
    read: DirectionStats
    write: DirectionStats
    sync: DirectionStats
    cpu_user_ns: int
    cpu_system_ns: int
    #: Operations that failed.
    errors: int
    series: Tuple[Interval, ...] = field(repr=False)
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def iops(self) -> float:
        """Reads and writes per second together."""
        return self.read.iops + self.write.iops

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second, reads and writes together."""
        return self.read.bandwidth_bytes_per_s + self.write.bandwidth_bytes_per_s

    @property
    def main(self) -> Tuple[str, DirectionStats]:
        """The direction that most operations have, with its figures; of two alike, reads."""
        return ("read", self.read) if self.read.ios >= self.write.ios else ("write", self.write)

    def sides(self) -> Iterator[Tuple[str, DirectionStats]]:
        """What was done at all: `read`, `write` or `sync`, with its figures."""
        for name, stats in zip(DIRECTIONS, (self.read, self.write, self.sync)):
            if stats.ios > 0:
                yield name, stats

    @classmethod
    def of(cls, at: Fields) -> Measurement:
        """Reads one."""
        cpu = at.child("cpu")
        read, write, sync = (DirectionStats.of(at.child(name)) for name in DIRECTIONS)
        return cls(
            engine=at.text("engine"),
            runtime_ns=at.count("runtime_ns"),
            steady=at.optional_flag("steady"),
            interrupted=at.flag("interrupted"),
            read=read,
            write=write,
            sync=sync,
            cpu_user_ns=cpu.count("user_ns"),
            cpu_system_ns=cpu.count("system_ns"),
            errors=at.count("errors"),
            series=tuple(Interval.of(interval) for interval in at.children("series")),
            raw=at.raw,
        )
