"""Tables of a run: the same figures as the program's own CSV."""

from __future__ import annotations

import csv
import subprocess
import sys
from typing import Any, Dict, List

import pytest
from program_needed import DATA, library, program

from iobound.runs import load

NAMES = ("quick", "database", "sweep")


def rows_of_csv(name: str, form: str) -> List[Dict[str, str]]:
    """The program's own table of a captured record."""
    record = str(DATA / f"{name}.json")
    text = subprocess.check_output([program(), "report", record, "--format", form], text=True)
    return list(csv.DictReader(text.splitlines()))


def same(cell: Any, written: str) -> bool:
    if written == "":
        return cell is None or cell == ""
    if isinstance(cell, float):
        return cell == pytest.approx(float(written), rel=1e-9, abs=1e-9)
    return str(cell) == written


@pytest.mark.parametrize("name", NAMES)
def test_the_series_is_that_of_the_program(name: str) -> None:
    library("polars")
    ours = load(DATA / f"{name}.json").to_polars("series").to_dicts()
    theirs = rows_of_csv(name, "series-csv")
    assert len(ours) == len(theirs) >= 20
    compared = set(ours[0]) & set(theirs[0])
    assert compared >= set(ours[0]) - {"latency_p95_ns"} and len(compared) == 16
    for row, written in zip(ours, theirs):
        for column in compared:
            assert same(row[column], written[column]), (column, row[column], written[column])


@pytest.mark.parametrize("name", NAMES)
def test_the_scenarios_are_those_of_the_program(name: str) -> None:
    library("polars")
    ours = load(DATA / f"{name}.json").to_polars().to_dicts()
    # A row for each direction there, and one for each scenario here.
    theirs = {(row["scenario_id"], row["direction"]): row for row in rows_of_csv(name, "csv")}
    assert len(ours) == len({number for number, _ in theirs}) > 4
    scenario_columns = [
        "scenario", "title", "volume", "phase", "rw", "read_percent", "block_size_bytes", "iodepth",
        "numjobs", "runtime_s", "ceiling_iops", "ceiling_bandwidth_bytes_per_s", "ceiling_bound",
        "percent_of_ceiling", "status", "error",
    ]  # fmt: skip
    figures = ["mean_ns", "p50_ns", "p95_ns", "p99_ns", "p99_9_ns", "max_ns"]
    for row in ours:
        main = theirs[str(row["scenario_id"]), row["latency_of"]]
        for column in scenario_columns:
            assert same(row[column], main[column]), (column, row[column], main[column])
        assert same(row["iops"], main["scenario_iops"])
        for side in ("read", "write", "sync"):
            written = theirs.get((str(row["scenario_id"]), side), {})
            assert same(row[f"{side}_iops"], written.get("iops", ""))
            for figure in figures:
                value = written.get(f"latency_{figure}", "")
                assert same(row[f"{side}_latency_{figure}"], value)
                if side == row["latency_of"]:
                    assert same(row[f"latency_{figure}"], value)
        both = [float(theirs[key]["bandwidth_bytes_per_s"]) for key in theirs
                if key[0] == str(row["scenario_id"])]  # fmt: skip
        assert row["bandwidth_bytes_per_s"] == pytest.approx(sum(both))
        assert row["bandwidth_mib_per_s"] == pytest.approx(sum(both) / 2**20)


def test_pandas_and_polars_have_the_same_cells() -> None:
    pandas, _ = library("pandas"), library("polars")
    run = load(DATA / "database.json")
    for frame in ("scenarios", "series"):
        one, other = run.to_pandas(frame), run.to_polars(frame)
        assert list(one.columns) == other.columns
        for column in one.columns:
            cells = [None if pandas.isna(cell) else cell for cell in one[column]]
            assert cells == other[column].to_list()


def test_types_do_not_hang_on_what_is_missing() -> None:
    library("pandas")
    library("polars")
    whole, none = load(DATA / "database.json"), load(DATA / "sweep.json")
    for frame in ("scenarios", "series"):
        assert list(whole.to_pandas(frame).dtypes) == list(none.to_pandas(frame).dtypes)
        assert whole.to_polars(frame).schema == none.to_polars(frame).schema
    table = none.to_pandas()
    assert table["percent_of_ceiling"].isna().all()
    kinds = {str(kind) for kind in table.dtypes}
    assert kinds <= {"string", "str", "Int64", "Float64", "boolean"}, kinds
    # What people do with it.
    best = whole.to_pandas("series").groupby("scenario")["iops"].max()
    assert best["mixed"] > best["seq-read"] > 0


def test_another_frame_is_none() -> None:
    library("pandas")
    with pytest.raises(ValueError, match="frame='rows' is none; use 'scenarios' or 'series'"):
        load(DATA / "sweep.json").to_pandas("rows")


@pytest.mark.parametrize("missing", ["pandas", "polars"])
def test_a_library_that_is_missing(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    run = load(DATA / "sweep.json")
    with pytest.raises(ImportError, match=rf"needs {missing}, .*pip install iobound\[{missing}\]"):
        getattr(run, f"to_{missing}")()
