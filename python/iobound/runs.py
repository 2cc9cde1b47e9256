"""Measuring from Python: `run` drives the program and gives back what it recorded, `load` reads a
record that is there already.

    run = iobound.run("quick", data="/mnt/data")
    run = iobound.run(rw="randread", bs="4k", iodepth=32, size="1g", runtime="10s")
    run = iobound.load("iobound-20260101T120000Z-4711")
    run.to_pandas()
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from pathlib import Path
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from .fields import PathLike, RecordError, read_object
from .job_text import JOB_OPTIONS, Job, JobValue, assignment, job_file, nearest
from .program import Answer, IoboundError, ProgramNotFound, RunInterrupted, ask
from .record import Run, Scenario

__all__ = [
    "IoboundError",
    "ProgramNotFound",
    "RecordError",
    "Run",
    "RunInterrupted",
    "Scenario",
    "load",
    "run",
]

#: Name of the record in its directory.
RECORD = "run.json"
#: Where a job that was given as values is kept, beside its record.
JOB_FILE = "iobound-job.toml"
_JOB_MARK = "# A job that was given to iobound.run in Python.\n"

#: Exit codes after which there is a whole record: done, and done with a verdict that fails.
_DONE = (0, 1)
#: The run broke or was interrupted: there is a record of what was measured.
_BROKE = 4

_numbers = itertools.count(1)

#: A size in bytes or a time in seconds as a number, or either as text with its unit.
Quantity = Union[int, float, str]
#: Figures asked of scenarios: `{1: {"iops": 540, "p99": "3ms"}}`, or as on the command line.
Targets = Union[str, Sequence[str], Mapping[int, Mapping[str, Union[int, float, str]]]]


def load(path: PathLike) -> Run:
    """The run whose `run.json`, or the directory that holds it, is `path`.

    Raises RecordError (a ValueError), which names the file, the field and what to do.
    """
    return _load(Path(path), None)


def _load(path: Path, exit_code: Optional[int]) -> Run:
    record = path
    # Not Path's own questions, which raise where a directory on the way may not be read.
    if os.path.isdir(path):
        record = path / RECORD
        if os.access(path, os.X_OK) and not os.path.isfile(record):
            raise RecordError(
                os.fspath(path),
                "",
                f"there is no {RECORD} in it",
                "give the directory that 'iobound run' wrote (out=DIR, else iobound-TIME)",
            )
    return Run.of(read_object(record), record, exit_code)


def run(
    what: Union[None, PathLike, Job, Sequence[Job]] = None,
    *,
    data: Optional[PathLike] = None,
    wal: Optional[PathLike] = None,
    scenario: Union[None, int, Sequence[int]] = None,
    depth: Union[None, int, Sequence[int]] = None,
    dedup: Union[None, float, Sequence[float]] = None,
    compress: Union[None, float, Sequence[float]] = None,
    engine: Optional[str] = None,
    out: Optional[PathLike] = None,
    fio_json: Optional[PathLike] = None,
    runtime: Optional[Quantity] = None,
    size: Optional[Quantity] = None,
    interval: Optional[Quantity] = None,
    until_steady: Union[bool, float, str] = False,
    overwrite: bool = False,
    destroy_data: Union[None, PathLike, Sequence[PathLike]] = None,
    keep_files: bool = False,
    context: Union[None, PathLike, Mapping[str, Any]] = None,
    require_check: bool = False,
    target: Optional[Targets] = None,
    fail_on: Union[None, str, Sequence[str]] = None,
    quiet: bool = True,
    **job: JobValue,
) -> Run:
    """Measures, and gives back the record.

    `what` is a suite (`"quick"`, `"database"`, ... or the path of one), a job file (fio's or TOML),
    a job as a mapping of fio's option names to values, or several of them. Without it the job is
    made of the keywords that are job options (`rw="randread", bs="4k", iodepth=32`), and without
    those it is the quick suite.

    The named keywords are the options of `iobound run`, with its meaning: `data` and `wal` are
    directories, `runtime` measures each job that long (a job of keywords says `time_based=False`
    to end when its size is covered), `size` is the working set of each job, `out` the directory for
    the record (else `./iobound-TIME`), `context` a hardware context by name, by file or as
    `Run.context` has it. `overwrite` allows writing to existing files that iobound did not make;
    fio's option of that name goes into a mapping. With `quiet=False` the program's words go to
    sys.stdout and sys.stderr.

    A run whose verdict fails is a Run like any other (`Run.verdict`, `Run.exit_code`). Raises
    TypeError for a keyword that is none, IoboundError where the program refuses or breaks (what it
    measured is its `run`), RunInterrupted on Ctrl-C, after the program has saved and cleaned up.
    """
    jobs = _jobs(what, job)
    if jobs is not None and what is None:
        # A job of keywords is whole in its file: the command alone does the same again.
        jobs, runtime, size = [_whole_job(job, runtime, size)], None, None
    place = Path(out) if out is not None else _new_place()
    options = option_words(
        data=data, wal=wal, scenario=scenario, depth=depth, dedup=dedup, compress=compress,
        engine=engine, out=place, fio_json=fio_json, runtime=runtime, size=size, interval=interval,
        overwrite=overwrite, destroy_data=destroy_data, keep_files=keep_files,
        require_check=require_check, fail_on=fail_on, quiet=quiet,
    )  # fmt: skip
    options += _until_steady(until_steady) + _targets(target)
    before = _stamp(place)
    with tempfile.TemporaryDirectory(prefix="iobound-") as scratch:
        if context is not None:
            options.append(f"--context={context_argument(context, Path(scratch))}")
        if jobs is None:
            argument = [] if what is None else ["--", _as_path(what)]
            return _finished(ask(["run", *options, *argument], show=not quiet), place, before)
        with _JobFile(place, jobs) as kept:
            answer = ask(["run", *options, "--", os.fspath(kept.path)], show=not quiet)
            kept.keep = _stamp(place) != before
            return _finished(answer, place, before)


def _finished(answer: Answer, place: Path, before: Tuple[int, ...]) -> Run:
    """The record, or the error that stands for it."""
    measured: Optional[Run] = None
    # The directory may hold the record of an earlier run.
    if answer.exit_code in (*_DONE, _BROKE) and _stamp(place) != before:
        measured = _load(place, answer.exit_code)
    if answer.interrupted:
        raise RunInterrupted(measured)
    if measured is not None and answer.exit_code in _DONE:
        return measured
    if answer.exit_code in _DONE:
        raise IoboundError("the program wrote no record", answer.exit_code)
    raise IoboundError(answer.message, answer.exit_code, measured)


def _stamp(place: Path) -> Tuple[int, ...]:
    """What changes when a record is written anew; empty where there is none."""
    try:
        status = (place / RECORD).stat()
    except OSError:
        return ()
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def _new_place() -> Path:
    """A directory name that no other run has."""
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return Path(f"iobound-{now}-{os.getpid()}-{next(_numbers)}")


def _jobs(what: Any, keywords: Mapping[str, JobValue]) -> Optional[List[Job]]:
    """The jobs that were given as values; None for a suite or a file."""
    _known(keywords)
    if isinstance(what, Mapping):
        jobs: Optional[List[Job]] = [what]
    elif isinstance(what, (list, tuple)):
        jobs = list(what)
        if not jobs or not all(isinstance(each, Mapping) for each in jobs):
            raise TypeError("several jobs are a list of mappings, one each, and at least one")
    elif what is None and keywords:
        return [dict(keywords)]
    else:
        jobs = None
    if keywords:
        names = ", ".join(f"{name}=" for name in keywords)
        raise TypeError(f"{names} is part of a job; put it into the job or file that is given")
    return jobs


def _whole_job(
    keywords: Mapping[str, JobValue], runtime: Optional[Quantity], size: Optional[Quantity]
) -> Job:
    """The job with the two of its options that are options of the program as well."""
    whole = dict(keywords)
    if size is not None:
        whole["size"] = size
    if runtime is not None:
        # As `--runtime` has it, but where the job itself says otherwise.
        whole = {"time_based": True, **whole, "runtime": runtime}
    return whole


def _known(keywords: Mapping[str, JobValue]) -> None:
    for name in keywords:
        if name not in JOB_OPTIONS:
            known = JOB_OPTIONS | set(run.__kwdefaults__ or {})
            hint = nearest(name, known)
            raise TypeError(f"run() knows no keyword '{name}'{hint}")


def _as_path(what: Any) -> str:
    """A suite or a file as the program takes it."""
    if isinstance(what, (str, os.PathLike)):
        path = os.fspath(what)
        if isinstance(path, str):
            return path
    kind = type(what).__name__
    raise TypeError(f"a suite's name, a path, a job or a list of jobs is needed, not {kind}")


def option_words(**values: Any) -> List[str]:
    """Keywords as options of the command line."""
    options: List[str] = []
    for name, value in values.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            options.append(option)
        elif isinstance(value, (list, tuple)):
            options.extend(f"{option}={_word(name, each)}" for each in value)
        else:
            options.append(f"{option}={_word(name, value)}")
    return options


def _word(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
        raise TypeError(f"{name}={value!r:.60} is no value of that option")
    word = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if not isinstance(word, str) or "\0" in word:
        raise ValueError(f"{name}={value!r:.60} is no text that a program can be given")
    return word


def _until_steady(value: Union[bool, float, str]) -> List[str]:
    # A bare option has its own meaning: known to 2%.
    if value is True or value is False:
        return ["--until-steady"] if value else []
    return [f"--until-steady={_word('until_steady', value)}"]


def _targets(target: Optional[Targets]) -> List[str]:
    if target is None:
        return []
    if not isinstance(target, Mapping):
        return option_words(target=target)
    words: List[str] = []
    for number, figures in target.items():
        pairs = ",".join(f"{name}={_word(name, value)}" for name, value in figures.items())
        words.append(f"--target={number}:{pairs}")
    return words


def context_argument(context: Union[PathLike, Mapping[str, Any]], scratch: Path) -> str:
    """A context as the program takes it; one given as values goes to a file in `scratch`."""
    if not isinstance(context, Mapping):
        return _word("context", context)
    text = "".join(f"{assignment(key, value)}\n" for key, value in context.items())
    path = scratch / "context.toml"
    path.write_text(text, encoding="utf-8")
    return os.fspath(path)


class _JobFile:
    """The file of jobs that were given as values: it stays where its record is, and only there."""

    def __init__(self, place: Path, jobs: Sequence[Job]) -> None:
        self._place = place
        self._text = _JOB_MARK + job_file(jobs)
        self._made_place = False
        self._written = False
        #: The job file of an earlier run in the same place, which stays if this one fails.
        self._before: Optional[bytes] = None
        self.path = place / JOB_FILE
        self.keep = False

    def __enter__(self) -> _JobFile:
        try:
            self._made_place = not os.path.exists(self._place)
            self._place.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                self._before = self.path.read_bytes()
                if not self._before.startswith(_JOB_MARK.encode()):
                    raise IoboundError(
                        f"{self.path} exists and is not iobound's; choose another place with out="
                    )
            self._written = True
            self.path.write_text(self._text, encoding="utf-8")
        except OSError as error:
            self._take_back()
            why = f"{self._place}: cannot be written: {error.strerror}"
            raise IoboundError(f"{why}; choose another place with out=") from error
        return self

    def __exit__(self, *_: object) -> None:
        if not self.keep:
            self._take_back()

    def _take_back(self) -> None:
        try:
            if self._written and self._before is not None:
                self.path.write_bytes(self._before)
            elif self._written:
                self.path.unlink()
            if self._made_place:
                self._place.rmdir()
        except OSError:
            # What else is in there is not ours to remove.
            pass
