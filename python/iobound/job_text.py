"""Jobs, suites and contexts as TOML, the form in which the program reads them."""

from __future__ import annotations

import difflib
import json
import math
import os
from typing import Any, Iterable, List, Mapping, Sequence, Union

#: A value of a job's option: sizes and times as numbers (bytes, seconds) or as text ("4k", "30s").
JobValue = Union[str, int, float, bool, "os.PathLike[str]", Sequence[Any]]
#: A job: fio's option names with their values, each a `JobValue`. Type checkers are told less: to
#: them a dictionary of texts and numbers that somebody keeps in a variable is one of objects.
Job = Mapping[str, Any]

#: Options of a job that the program knows, to name the nearest of one that it does not. Whether a
#: value or a combination is right the program says itself. A test holds this against its own table.
JOB_OPTIONS = frozenset(
    """
    allrandrepeat blocksize blocksize_range bs bsrange bssplit buffer_compress_percentage
    buffered compress_ratio cpumask cpus_allowed dedup_ratio dedup_unit dedupe_percentage
    description direct directory do_verify end_fsync fallocate fdatasync filename fileoffset
    filesize fsync group_reporting io_limit io_size iodepth iodepth_batch
    iodepth_batch_submit ioengine kb_base log_avg_msec loops name norandommap nr_files
    nrfiles number_ios numjobs offset offset_increment overwrite pre_read ramp_time
    random_distribution randrepeat randseed rate rate_iops readwrite refill_buffers runtime
    rw rwmixread rwmixwrite size startdelay stonewall sync thinktime thinktime_blocks
    time_based timeout verify wait_for_previous zero_buffers
    """.split()
)


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing where no name is near."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def job_file(jobs: Sequence[Job]) -> str:
    """A job file with these jobs; those without a name are called job, or job1, job2, ..."""
    parts: List[str] = []
    for number, job in enumerate(jobs, start=1):
        name = "job" if len(jobs) == 1 else f"job{number}"
        lines = [assignment(key, value) for key, value in {"name": name, **job}.items()]
        parts.append("\n".join(["[[job]]", *lines]))
    return "\n\n".join(parts) + "\n"


def assignment(key: str, value: Any) -> str:
    """`key = value`."""
    return f"{_key(key)} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A value in TOML; raises TypeError for what TOML has no form of."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no value of an option")
        return repr(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        # A field without a value is a field that is not there.
        pairs = [assignment(key, each) for key, each in value.items() if each is not None]
        return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    if hasattr(value, "item") and not isinstance(value, (bytes, bytearray)):
        # A number of numpy's.
        return toml_value(value.item())
    raise TypeError(f"{type(value).__name__} is no value of an option: {value!r:.60}")


def _text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{text!r:.60} is not UTF-8, and a job file must be") from error
    # JSON's escapes are all TOML's too, but JSON leaves this one character as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the name of an option is text, and {key!r:.60} is none")
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _text(key)
