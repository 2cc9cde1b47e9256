"""Checked reading of JSON: what is wrong is said with its file and its field.

A record is outside text: it may be cut short, edited by hand, of another version, or another
program's file. Nothing here guesses; a value of another kind than the record promises is an error.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

#: A path, as text or as an object.
PathLike = Union[str, "os.PathLike[str]"]

#: Largest record that is read: an hour of ten scenarios in one-second intervals is about 100 MiB.
BYTES_MAX = 256 << 20
#: No count, size or time of a run is as large: an exbibyte, or 36 years in nanoseconds.
COUNT_MAX = 1 << 60

_GZIP = b"\x1f\x8b"
_MEND = "the file was changed after it was written; take the original, or mend that field"


class RecordError(ValueError):
    """A record that cannot be used.

    Attributes: `file` (where it was read from), `field` (for example
    ``scenarios[0].measurement.read.iops``; empty where the whole file is meant), `cause` and
    `remedy`.
    """

    def __init__(self, file: str, field: str, cause: str, remedy: str) -> None:
        place = f"field '{field}': " if field else ""
        super().__init__(f"{file}: {place}{cause}; {remedy}")
        self.file = file
        self.field = field
        self.cause = cause
        self.remedy = remedy

    def __reduce__(self) -> Any:
        # Made of four words, not of the one sentence that ValueError keeps.
        return (type(self), (self.file, self.field, self.cause, self.remedy))


def read_object(path: Path) -> Dict[str, Any]:
    """The JSON object in a file.

    Raises RecordError for what is missing, too large, binary, cut short or no object.
    """
    file = os.fspath(path)
    try:
        if path.exists() and not path.is_file():
            raise RecordError(
                file, "", "is not a regular file", "give a run.json or the directory that holds it"
            )
        with path.open("rb") as stream:
            content = stream.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, RecordError):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RecordError(
            file, "", why, "give the directory that 'iobound run' wrote, or its run.json"
        ) from error
    if len(content) > BYTES_MAX:
        raise RecordError(
            file,
            "",
            "is larger than 256 MiB, which no record is",
            "if it is one, run again with a longer interval",
        )
    return parse_object(content, file)


def parse_object(content: bytes, file: str) -> Dict[str, Any]:
    """The JSON object in `content`, which was read from `file`."""
    if content.startswith(_GZIP):
        raise RecordError(file, "", "is compressed with gzip", "unpack it first: gunzip FILE")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(file, "", "is binary, not a record", "give a run.json") from error
    if "\0" in text:
        raise RecordError(file, "", "is binary, not a record", "give a run.json")
    if not text.strip():
        raise RecordError(
            file,
            "",
            "is empty",
            "the disk was full or the copy failed; take the original, or run again",
        )
    try:
        value = json.loads(text, parse_constant=_no_such_number)
    except json.JSONDecodeError as error:
        raise _not_json(error, text, file) from error
    except (ValueError, RecursionError) as error:
        # Digits without end, brackets without end, or one of the words that are no JSON.
        raise RecordError(
            file, "", f"is not JSON: {error}", "give a run.json that 'iobound run' wrote"
        ) from error
    if not isinstance(value, dict):
        raise RecordError(
            file, "", "is JSON, but no record", "give a run.json that 'iobound run' wrote"
        )
    return value


def _no_such_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _not_json(error: json.JSONDecodeError, text: str, file: str) -> RecordError:
    place = f"line {error.lineno}, column {error.colno}"
    if _is_cut_short(error, text):
        remedy = "copy it again in full; 'iobound run' itself never leaves half a record"
        return RecordError(file, "", f"is cut short at {place}", remedy)
    remedy = "give a run.json that 'iobound run' wrote; if it was edited, mend that place"
    return RecordError(file, "", f"is not JSON: {error.msg} at {place}", remedy)


def _is_cut_short(error: json.JSONDecodeError, text: str) -> bool:
    """Whether what follows the error is the beginning of something right, and no more."""
    rest = text[error.pos :].strip()
    in_text = error.msg.startswith(("Unterminated string", "Invalid \\")) and '"' not in rest[1:]
    in_word = any(word.startswith(rest) for word in ("true", "false", "null"))
    return in_text or in_word or re.fullmatch(r"[-+.\deE]*", rest) is not None


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        # All digits of an absurd number would fill the screen.
        return (
            str(value)
            if abs(value) < COUNT_MAX
            else f"{value:.6g}"
            if abs(value) < 1e300
            else "that number"
        )
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "...")
    return "a list" if isinstance(value, list) else "an object"


class Fields:
    """One object of a record, read field by field.

    A missing field takes its default, as the program has it; one of another kind is an error.
    """

    def __init__(self, raw: Any, file: str, place: str = "") -> None:
        self.file = file
        self.place = place
        if not isinstance(raw, dict):
            raise self.fault("", f"{_kind_of(raw)} is not an object")
        self.raw: Mapping[str, Any] = raw

    def fault(self, name: str, cause: str, remedy: str = _MEND) -> RecordError:
        """The error of one field, or with an empty name of the object itself."""
        field = ".".join(part for part in (self.place, name) if part)
        return RecordError(self.file, field, cause, remedy)

    def required(self, name: str) -> None:
        """Raises where the field is missing."""
        if name not in self.raw:
            raise self.fault(name, "is missing")

    def count(self, name: str, default: int = 0) -> int:
        """A whole number from 0 on."""
        value = self.raw.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fault(name, f"{_kind_of(value)} is not a whole number")
        if not 0 <= value <= COUNT_MAX:
            raise self.fault(name, f"{_kind_of(value)} cannot be measured")
        return int(value)

    def optional_count(self, name: str) -> Optional[int]:
        """A whole number from 0 on, or None."""
        return None if self.raw.get(name) is None else self.count(name)

    def real(self, name: str, default: float = 0.0) -> float:
        """A number from 0 on."""
        value = self.raw.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fault(name, f"{_kind_of(value)} is not a number")
        # A number such as 1e999 reads as infinity.
        if value < 0 or value > 1e300 or math.isnan(value):
            raise self.fault(name, f"{_kind_of(value)} cannot be measured")
        return float(value)

    def optional_real(self, name: str) -> Optional[float]:
        """A number from 0 on, or None."""
        return None if self.raw.get(name) is None else self.real(name)

    def text(self, name: str, default: str = "") -> str:
        """Text."""
        value = self.raw.get(name, default)
        if not isinstance(value, str):
            raise self.fault(name, f"{_kind_of(value)} is not text")
        return value

    def optional_text(self, name: str) -> Optional[str]:
        """Text, or None."""
        return None if self.raw.get(name) is None else self.text(name)

    def word(self, name: str, known: Sequence[str], default: str) -> str:
        """One of a few words."""
        value = self.text(name, default)
        if value not in known:
            raise self.fault(name, f"{_kind_of(value)} is none of {', '.join(known)}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self.raw.get(name, default)
        if not isinstance(value, bool):
            raise self.fault(name, f"{_kind_of(value)} is neither true nor false")
        return value

    def optional_flag(self, name: str) -> Optional[bool]:
        """True or false, or None."""
        return None if self.raw.get(name) is None else self.flag(name)

    def items(self, name: str) -> List[Any]:
        """A list; empty where the field is missing."""
        value = self.raw.get(name, [])
        if not isinstance(value, list):
            raise self.fault(name, f"{_kind_of(value)} is not a list")
        return value

    def texts(self, name: str) -> List[str]:
        """A list of texts."""
        values = self.items(name)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise self.fault(f"{name}[{index}]", f"{_kind_of(value)} is not text")
        return values

    def children(self, name: str) -> List[Fields]:
        """A list of objects."""
        place = ".".join(part for part in (self.place, name) if part)
        return [
            Fields(item, self.file, f"{place}[{index}]")
            for index, item in enumerate(self.items(name))
        ]

    def child(self, name: str) -> Fields:
        """An object; an empty one where the field is missing."""
        place = ".".join(part for part in (self.place, name) if part)
        return Fields(self.raw.get(name, {}), self.file, place)

    def optional_child(self, name: str) -> Optional[Fields]:
        """An object, or None."""
        return None if self.raw.get(name) is None else self.child(name)
