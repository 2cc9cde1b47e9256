"""Whole files: written at the storage's own speed, and read back."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _native
from .errors import of_code


@dataclass(frozen=True)
class Stats:
    """What a file was written or read with."""

    #: As given.
    path: str
    #: Written or read without a gap from the start.
    bytes: int
    #: From the first byte to the last, with the final sync of a write.
    seconds: float
    #: Whether the page cache was passed by.
    direct: bool
    #: Of the content, for `read_file` and `Generator`; None when unknown.
    seed: int | None = None
    #: Of single writes: nanoseconds by name, such as `min`, `mean`, `p50`, `p99`, `p99_9`, `max`. Empty for
    #: reads.
    latency_ns: dict[str, float] = field(default_factory=dict)
    #: Whether every byte was as it should be; None when nothing was compared.
    verified: bool | None = None
    #: What was not, in words; the first few.
    differences: tuple[str, ...] = ()
    #: The whole record, as `iobound stream` writes it to run.json; empty for reads.
    record: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def bytes_per_second(self) -> float:
        """Bytes over seconds."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def gb_per_s(self) -> float:
        """The same in GB/s, a GB being 10^9 bytes."""
        return self.bytes_per_second / 1e9

    @property
    def bottleneck(self) -> str:
        """What held a write back: `storage`, `generator`, `processor`, `reader`, `balanced`, `none`."""
        return str(_stream(self.record).get("bottleneck", "")) if self.record else ""


def write_file(
    path: str | os.PathLike[str],
    size: int | str,
    *,
    seed: int | None = None,
    dedup_ratio: float = 1.0,
    compress_ratio: float = 1.0,
    buffer_size: int | str | None = None,
    buffer_count: int | None = None,
    num_writers: int | None = None,
    depth: int | None = None,
    mode: str | None = None,
    direct: bool = True,
    numa_mode: str = "auto",
    max_threads: int | None = None,
    auto: bool = False,
    read_back: bool = False,
    overwrite: bool = False,
    destroy_data: Sequence[str | os.PathLike[str]] = (),
) -> Stats:
    """Writes generated data to a file or device, at the storage's own speed; `iobound stream` in process.

    `path` may be `null:`, which takes everything and keeps nothing. `size` is a number of bytes or a text such
    as `"10GB"`. Existing files need `overwrite`, devices `destroy_data` with their names. With `auto` the
    settings are searched for first; with `read_back` every byte is read again and compared. The same `seed`
    and ratios give the same bytes as a `Generator`.

    Other Python threads run meanwhile. Ctrl-C stops it: what was written until then stays, cut where it is
    whole.

    Raises `BadUsage` (a ValueError), `Refused` (a PermissionError) or `Broke` (an OSError).
    """
    text, failure = _native.write_file(
        os.fspath(path),
        size,
        seed=seed,
        dedup_ratio=dedup_ratio,
        compress_ratio=compress_ratio,
        buffer_size=buffer_size,
        buffer_count=buffer_count,
        num_writers=num_writers,
        depth=depth,
        mode=mode,
        direct=direct,
        numa_mode=numa_mode,
        max_threads=max_threads,
        auto=auto,
        read_back=read_back,
        overwrite=overwrite,
        destroy_data=destroy_data,
    )
    if failure is not None:
        raise of_code(*failure)
    record: dict[str, Any] = json.loads(text)
    measurement = record["scenarios"][-1]["measurement"]
    stream = _stream(record)
    outcome = measurement.get("verify")
    return Stats(
        path=os.fspath(path),
        bytes=stream["written_bytes"],
        seconds=(stream["writing_ns"] + stream["finishing_ns"]) / 1e9,
        direct=stream["outputs"][0]["direct"],
        seed=stream["seed"],
        latency_ns=measurement["write"]["latency_ns"],
        verified=None if outcome is None else _is_right(outcome),
        differences=() if outcome is None else tuple(outcome["examples"]),
        record=record,
    )


def read_file(
    path: str | os.PathLike[str],
    *,
    size: int | str | None = None,
    seed: int | None = None,
    dedup_ratio: float = 1.0,
    compress_ratio: float = 1.0,
    direct: bool = True,
    max_threads: int | None = None,
) -> Stats:
    """Reads a file or device through, past the page cache unless `direct` is False.

    With the `seed` and ratios that it was written with, every byte is compared: see `verified` and
    `differences`. Without, it is only read. `size` is how much, from the start; None reads all.

    Other Python threads run meanwhile, and Ctrl-C stops it. Raises as `write_file` does.
    """
    count, seconds, text = _native.read_file(
        path,
        size=size,
        seed=seed,
        dedup_ratio=dedup_ratio,
        compress_ratio=compress_ratio,
        direct=direct,
        max_threads=max_threads,
    )
    outcome = None if text is None else json.loads(text)
    return Stats(
        path=os.fspath(path),
        bytes=count,
        seconds=seconds,
        direct=direct,
        seed=seed,
        verified=None if outcome is None else _is_right(outcome),
        differences=() if outcome is None else tuple(outcome["examples"]),
    )


def _stream(record: dict[str, Any]) -> dict[str, Any]:
    stream: dict[str, Any] = record["scenarios"][-1]["stream"]
    return stream


def _is_right(outcome: dict[str, Any]) -> bool:
    bad = sum(outcome[kind] for kind in ("torn", "lost", "misplaced", "corrupt"))
    return bool(bad == 0 and outcome["checked"] > 0)
