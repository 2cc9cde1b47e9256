"""`load` reads what the program wrote, and says what is wrong with anything else."""

from __future__ import annotations

import copy
import gzip
import json
import os
import pickle
import random
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple, Union

import pytest
from program_needed import DATA

from iobound.record import RunVerdict
from iobound.runs import RecordError, Run, load

CAPTURED = ("quick", "database", "sweep")


def record(name: str) -> Dict[str, Any]:
    loaded: Dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    return loaded


def loaded(tmp_path: Path, content: Union[bytes, str, Dict[str, Any]]) -> Run:
    path = tmp_path / "run.json"
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(path)


def refused(tmp_path: Path, content: Union[bytes, str, Dict[str, Any]]) -> RecordError:
    with pytest.raises(RecordError) as caught:
        loaded(tmp_path, content)
    error = caught.value
    assert isinstance(error, ValueError)
    assert error.file == str(tmp_path / "run.json") and str(error).startswith(error.file)
    assert error.cause and error.remedy
    return error


@pytest.mark.parametrize("name", CAPTURED)
def test_every_figure_is_the_record_s(name: str) -> None:
    raw, run = record(name), load(DATA / f"{name}.json")
    assert (run.raw, run.id, run.started, run.iobound) == (
        raw, raw["id"], raw["started"], raw["iobound"]
    )  # fmt: skip
    assert len(run.scenarios) == len(raw["scenarios"]) > 4
    for scenario, written in zip(run.scenarios, raw["scenarios"]):
        assert scenario.raw is run.raw["scenarios"][run.scenarios.index(scenario)]
        assert (scenario.id, scenario.name, scenario.job.bs, scenario.job.iodepth) == (
            written["id"], written["name"], written["job"]["bs"], written["job"]["iodepth"]
        )  # fmt: skip
        measured, figures = scenario.measurement, written["measurement"]
        assert measured is not None and measured.runtime_ns == figures["runtime_ns"]
        for side, stats in (("read", measured.read), ("write", measured.write)):
            assert (stats.ios, stats.iops) == (figures[side]["ios"], figures[side]["iops"])
            latency = figures[side]["latency_ns"]
            assert (stats.latency.p50_ns, stats.latency.p95_ns) == (latency["p50"], latency["p95"])
            assert (stats.latency.p99_ns, stats.latency.p99_9_ns) == (
                latency["p99"], latency["p99_9"]
            )  # fmt: skip
            assert stats.latency.percentiles_ns[99.99] == latency["p99_99"]
            assert (stats.latency.mean_ns, stats.latency.max_ns) == (
                latency["mean"], latency["max"]
            )  # fmt: skip
        assert measured.iops == figures["read"]["iops"] + figures["write"]["iops"]
        assert len(scenario.series) == len(figures["series"])
        assert (scenario.ceiling is None) == (written["ceiling"] is None)
    assert [finding.id for finding in run.findings] == [each["id"] for each in raw["findings"]]
    sides = sum(side in each for s in raw["scenarios"] for each in s["measurement"]["series"]
                for side in ("read", "write", "sync"))  # fmt: skip
    assert len(run.series) == sides >= 20


def test_verdicts_in_a_word_and_a_line() -> None:
    run = load(DATA / "database.json")
    written = record("database")["scenarios"]
    # Nothing voids them, so that each mark is the verdict's word.
    assert [each.mark for each in run.scenarios] == [each["verdict"]["status"] for each in written]
    counts = {"short": 0, "unknown": 0, "ok": 0}
    for each in written:
        counts[each["verdict"]["status"]] += 1
    assert min(counts.values()) > 0 and run.verdict.counts == counts
    assert list(run.verdict.counts) == ["short", "unknown", "ok"]
    assert run.verdict.status == "short" and not run.verdict.ok
    says = (
        f"{counts['short']} of 6 scenarios short of their ceiling, "
        f"{counts['unknown']} without a ceiling, {counts['ok']} at their ceiling"
    )
    assert run.verdict.says == says and str(run) == f"database, {run.started}: {says}"
    assert RunVerdict({}).says == "nothing was measured" and RunVerdict({}).status == "failed"
    assert RunVerdict({"ok": 1}).says == "the one scenario is at its ceiling"
    assert RunVerdict({"ok": 3}).ok


def mark_of(tmp_path: Path, change: Callable[[Dict[str, Any]], None]) -> str:
    raw = record("database")
    raw["scenarios"] = raw["scenarios"][2:3]
    change(raw)
    return loaded(tmp_path, raw).verdict.status


def test_what_voids_a_number_comes_before_its_verdict(tmp_path: Path) -> None:
    def void(raw: Dict[str, Any]) -> None:
        raw["findings"][0].update(id="sparse-file", severity="error")
        raw["scenarios"][0]["verdict"]["findings"] = ["sparse-file"]

    def lost(raw: Dict[str, Any]) -> None:
        raw["scenarios"][0].update(measurement=None, error="it broke")

    assert mark_of(tmp_path, lambda raw: None) == "ok"
    assert mark_of(tmp_path, void) == "void"
    assert mark_of(tmp_path, lost) == "failed"
    for field, value, mark in (("interrupted", True, "cut"), ("errors", 3, "errors")):
        assert mark_of(tmp_path, lambda raw, f=field, v=value:  # type: ignore[misc]
                       raw["scenarios"][0]["measurement"].update({f: v})) == mark  # fmt: skip


def test_a_directory_stands_for_its_record(tmp_path: Path) -> None:
    loaded(tmp_path, record("sweep"))
    assert load(tmp_path).path == tmp_path / "run.json"
    assert load(str(tmp_path)).label == "sweep"
    with pytest.raises(RecordError, match="there is no run.json in it; give the directory"):
        load(DATA)
    with pytest.raises(RecordError, match="No such file or directory; give the directory"):
        load(tmp_path / "none")
    with pytest.raises(RecordError, match="no/such: Not a directory|No such file"):
        load(tmp_path / "run.json" / "no" / "such")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordError, match="is not a regular file"):
        load(tmp_path / "pipe")
    with pytest.raises(ValueError, match="null"):
        load("a\0b")


def test_files_that_are_no_record(tmp_path: Path) -> None:
    whole = (DATA / "sweep.json").read_bytes()
    for content, cause in (
        (b"", "is empty"),
        (b" \n", "is empty"),
        (gzip.compress(whole), "is compressed with gzip"),
        (b"\x7fELF\x02\x01\x01\0\0", "is binary"),
        (b"\xff\xfe{", "is binary"),
        (b"hello", "is not JSON: Expecting value at line 1, column 1"),
        (b'{"schema": 1,, }', "is not JSON"),
        (b'{"schema": NaN}', "NaN is no number of JSON"),
        (b"[" * 100_000, "is not JSON|is cut short"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "is not JSON|is of a newer"),
        (b"[1, 2]", "is JSON, but no record"),
        (b'"text"', "is JSON, but no record"),
        (b"{}", "has no field 'schema'"),
        (b'{"fio version": "fio-3.33", "jobs": []}', "is what fio writes"),
    ):
        error = refused(tmp_path, content)
        assert any(part in error.cause for part in cause.split("|")), (content[:20], error)
    assert loaded(tmp_path, b"\xef\xbb\xbf" + whole).label == "sweep"


def test_a_record_that_is_cut_short_anywhere(tmp_path: Path) -> None:
    whole = (DATA / "sweep.json").read_bytes().rstrip()
    # A character that JSON writes as six.
    whole = whole.replace(b'"sweep', b'"sw\\u00e9', 1)
    for length in [*range(1, 600), *range(600, len(whole), 499), len(whole) - 1]:
        error = refused(tmp_path, whole[:length])
        assert error.cause.startswith("is cut short at line "), (length, error)


def test_other_versions(tmp_path: Path) -> None:
    for schema, cause in (
        (2, "2 is of a newer iobound (9.9.9), and this one reads 1"),
        (0, "0 is older than the 1"),
        ("1", "'1' is not a version"),
        (True, "'True' is not a version"),
        (None, "'None' is not a version"),
        (1.0, "'1.0' is not a version"),
    ):
        error = refused(tmp_path, {**record("sweep"), "schema": schema, "iobound": "9.9.9"})
        assert error.field == "schema" and cause in error.cause


#: A place in the record, what is put there, and what the error says.
ODD: List[Tuple[str, Any, str]] = [
    ("id", None, "null is not text"),
    ("scenarios", {}, "an object is not a list"),
    ("scenarios[1]", 7, "7 is not an object"),
    ("scenarios[0].id", "1", "'1' is not a whole number"),
    ("scenarios[0].job.rw", "sideways", "'sideways' is none of read, write, randread"),
    ("scenarios[0].job.iodepth", 1.5, "1.5 is not a whole number"),
    ("scenarios[2].ceiling.bound", [], "a list is not text"),
    ("scenarios[0].verdict.status", "fine", "'fine' is none of ok, short, above, unknown"),
    ("scenarios[0].verdict.percent_of_ceiling", -1, "-1 cannot be measured"),
    ("scenarios[0].measurement.read.iops", "1e3", "'1e3' is not a number"),
    ("scenarios[0].measurement.read.iops", float("inf"), ""),
    ("scenarios[0].measurement.read.ios", 1 << 70, "cannot be measured"),
    ("scenarios[0].measurement.write.latency_ns.p99", -5, "-5 cannot be measured"),
    ("scenarios[0].measurement.series[3].write.iops", True, "true is not a number"),
    ("findings[0].severity", "fatal", "'fatal' is none of note, warning, error"),
    ("interrupted", "no", "'no' is neither true nor false"),
    ("context", "gp3", "'gp3' is not an object"),
    ("conclusions[0]", 5, "5 is not text"),
]


def put(raw: Any, place: str, value: Any) -> None:
    *way, last = place.replace("[", ".[").split(".")
    for step in way:
        raw = raw[int(step[1:-1])] if step[0] == "[" else raw[step]
    raw[int(last[1:-1]) if last[0] == "[" else last] = value


@pytest.mark.parametrize(("place", "value", "cause"), ODD)
def test_a_field_of_another_kind_is_named(
    tmp_path: Path, place: str, value: Any, cause: str
) -> None:
    raw = record("database")
    put(raw, place, value)
    error = refused(tmp_path, json.dumps(raw).replace("Infinity", "1e999"))
    assert error.field == place
    assert cause in error.cause
    assert f"run.json: field '{place}': " in str(error)


def test_fields_that_are_missing(tmp_path: Path) -> None:
    least = {"schema": 1, "iobound": "0", "id": "", "started": "", "suite": "quick", "host": {}}
    run = loaded(tmp_path, {**least, "a field of tomorrow": 1})
    assert (run.scenarios, run.findings, run.context, run.series) == ((), (), None, [])
    assert run.verdict.status == "failed"
    assert loaded(tmp_path, {**least, "scenarios": [{}]}).scenarios[0].label == "unnamed"
    for name in least:
        error = refused(tmp_path, {key: each for key, each in least.items() if key != name})
        assert name in str(error)
    assert refused(tmp_path, {**least, "findings": [{"id": "x"}]}).field == "findings[0].severity"
    error = refused(tmp_path, {**least, "scenarios": [{"ceiling": {"iops": 1}}]})
    assert error.field == "scenarios[0].ceiling.bandwidth_bytes_per_s"


def places(value: Any, place: str = "") -> Iterator[str]:
    """Every place in a record."""
    if place:
        yield place
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from places(each, f"{place}[{index}]")


def test_nothing_but_a_clear_error_comes_of_a_changed_record() -> None:
    raw = record("database")
    raw["scenarios"] = raw["scenarios"][2:5]
    for scenario in raw["scenarios"]:
        scenario["measurement"]["series"] = scenario["measurement"]["series"][:2]
    everywhere = list(places(raw))
    choose = random.Random(5)
    named = 0
    for place in choose.sample(everywhere, 150):
        for value in (None, "x", -1, 1.5, True, [], {}, [None], {"a": 1}, 1 << 80):
            changed = copy.deepcopy(raw)
            put(changed, place, value)
            try:
                run = Run.of(changed, Path("changed.json"))
            except RecordError as error:
                named += 1
                assert error.file == "changed.json"
                # The field itself, or what is in it.
                assert error.field.startswith(place), (place, value, error)
            else:
                assert run.verdict.says
    assert named > 300


def test_what_is_read_can_be_kept_and_sent(tmp_path: Path) -> None:
    run = load(DATA / "sweep.json")
    again = pickle.loads(pickle.dumps(run))
    assert again == run and again.to_pandas().equals(run.to_pandas())
    error = refused(tmp_path, "{}")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    # Short enough for a prompt.
    assert len(repr(run)) < 2000
