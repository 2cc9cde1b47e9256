"""`run` drives the real program on temporary directories."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest
from program_needed import program

from iobound.job_text import JOB_OPTIONS, job_file, toml_value
from iobound.program import IoboundError, ProgramNotFound, find_program
from iobound.runs import JOB_FILE, Targets, load, run

#: The suite may be a copy elsewhere, beside which there is nothing.
REPOSITORY = Path(os.environ.get("IOBOUND_SOURCE") or Path(__file__).resolve().parents[2])

#: A job that is done in a moment.
QUICK: Dict[str, Any] = {"rw": "randread", "bs": "4k", "size": "4m", "number_ios": 200}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a place for data. It is the current one: nothing is left elsewhere."""
    program()
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pretend(place: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Puts a shell script in the program's place; `$IOBOUND` is the real one."""
    path = place / "pretended"
    path.write_text(f"#!/bin/sh\nIOBOUND='{program()}'\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("IOBOUND_PROGRAM", str(path))


def test_a_job_of_keywords_runs_as_it_was_asked(place: Path) -> None:
    done = run(
        rw="randread", bs="8k", iodepth=4,
        data="data", size="8m", runtime="400ms", interval="100ms", out="out",
    )  # fmt: skip
    assert done.exit_code == 0
    (scenario,) = done.scenarios
    assert (scenario.job.rw, scenario.job.bs, scenario.job.iodepth) == ("randread", 8192, 4)
    measured = scenario.measurement
    assert measured is not None and measured.read.ios > 0 and measured.write.ios == 0
    assert measured.iops == pytest.approx(measured.read.ios / (measured.runtime_ns / 1e9), rel=1e-6)
    assert 0.3e9 < measured.runtime_ns < 5e9
    assert len(scenario.series) >= 3
    assert sum(each.read.ios for each in scenario.series if each.read) == measured.read.ios
    assert (scenario.mark, done.verdict.status, done.verdict.ok) == ("unknown", "unknown", False)
    # The data is gone, and the record is there with its job beside it.
    assert list(Path("data").iterdir()) == []
    assert (
        (place / "out" / JOB_FILE)
        .read_text()
        .endswith(
            '[[job]]\nname = "job"\ntime_based = true\nrw = "randread"\nbs = "8k"\niodepth = 4\n'
            'size = "8m"\nruntime = "400ms"\n'
        )
    )
    assert load("out").raw == done.raw == load(Path("out/run.json")).raw
    assert load("out").exit_code is None


def test_a_job_ends_with_its_size_when_it_says_so(place: Path) -> None:
    done = run(rw="read", bs="64k", size="4m", runtime=30, time_based=False, data="data", out="out")
    measured = done.scenarios[0].measurement
    assert measured is not None
    assert (measured.read.bytes, done.scenarios[0].job.raw["runtime_ns"]) == (
        4 << 20,
        30_000_000_000,
    )


def test_jobs_as_mappings_and_as_files(place: Path) -> None:
    assert [each.name for each in run(QUICK, data="data", out="one").scenarios] == ["job"]
    two = run([QUICK, {**QUICK, "name": "second", "stonewall": True}], data="data", out="two")
    assert [each.name for each in two.scenarios] == ["job1", "second"]
    Path("own.toml").write_text(job_file([QUICK]))
    assert run("own.toml", data="data", out="three").label == "own"
    Path("own.fio").write_text("[reads]\nrw=randread\nsize=4m\nnumber_ios=200\n")
    fio = run(Path("own.fio"), data=Path("data"), out=Path("four"))
    # fio's own defaults: buffered.
    assert [(each.name, each.job.direct) for each in fio.scenarios] == [("reads", False)]
    assert sorted(path.name for path in Path("two").iterdir()) == [
        JOB_FILE,
        "run.json",
        "samples.csv",
    ]


def test_a_suite_with_scenarios_and_a_context(place: Path) -> None:
    # Storage that promises one operation a second is far outdone.
    context = {
        "schema": 1,
        "name": "slow",
        "volume": [{"name": "v", "kind": "gp3", "size": "1GiB", "iops": 1, "bandwidth": "1KiB/s"}],
        "filesystem": [{"on": "v", "kind": "ext4", "mount": "/mnt/v", "role": "data"}],
    }
    Path("mine.toml").write_text(
        'name = "mine"\n'
        + "".join(
            f'[[scenario]]\nid = {number}\nname = "s{number}"\n'
            'job = { rw = "randread", bs = "4k", iodepth = 8, size = "4MiB", runtime = "200ms" }\n'
            for number in (1, 2, 3)
        )
    )
    done = run("mine.toml", scenario=[1, 3], data="data", context=context, out="out")
    assert [each.id for each in done.scenarios] == [1, 3]
    assert done.context is not None and done.context["name"] == "slow"
    first = done.scenario("s1")
    assert first is done.scenario(1)
    assert first.ceiling is not None and first.ceiling.iops <= 1.0
    assert first.verdict.status == "above" and done.verdict.status == "above"
    assert "above-ceiling" in [finding.id for finding in done.findings]
    assert done.verdict.says == "all 2 scenarios are above their ceiling"
    with pytest.raises(KeyError, match=r"no scenario 2; there are 1 \(s1\), 3 \(s3\)"):
        done.scenario(2)


def test_without_out_the_record_goes_where_the_command_puts_it(place: Path) -> None:
    done = run("quick", data="data", size="16m", runtime="50ms")
    assert len(done.scenarios) > 5 and done.suite == "quick"
    assert re.fullmatch(r"iobound-\d{8}T\d{6}Z-[-\d]+", done.path.parent.name)
    assert done.path.parent.resolve().parent == place.resolve()


def test_a_failed_verdict_is_a_run_like_any_other(place: Path) -> None:
    asked: Targets = {1: {"iops": 1e9, "p99": "1us"}}
    done = run(QUICK, data="data", out="out", target=asked, fail_on=["target"])
    assert done.exit_code == 1
    outcomes = done.scenarios[0].verdict.targets
    assert [(each.what, each.met) for each in outcomes] == [("IOPS", False), ("p99", False)]
    assert run(QUICK, data="data", out="out", target="1:iops=1", fail_on="target").exit_code == 0


def test_the_program_s_refusals_are_errors_with_its_words(place: Path) -> None:
    def refused(*what: Any, **options: Any) -> IoboundError:
        with pytest.raises(IoboundError) as caught:
            run(*what, out="out", **options)
        assert caught.value.run is None
        assert not Path("out").exists()
        return caught.value

    bad = refused(rw="randrd", size="1m", data="data")
    assert bad.exit_code == 2
    assert "bad value 'rw=randrd': use read, write, randread" in bad.message
    assert "did you mean 'rw'" in refused({"rww": "read"}, data="data").message
    unknown = refused("quikc")
    assert unknown.message.startswith("'quikc' is neither a suite nor a job file that exists")
    assert refused(QUICK, data="data", runtime="3x").message.startswith("invalid value '3x'")
    assert refused("--version").exit_code == 2
    Path("data/precious").write_bytes(b"x" * 8192)
    precious = {"rw": "write", "size": "8k", "filename": str(place / "data" / "precious")}
    assert refused(precious).exit_code == 3
    assert Path("data/precious").read_bytes() == b"x" * 8192


def test_keywords_that_are_none_name_the_nearest(place: Path) -> None:
    with pytest.raises(TypeError, match="no keyword 'runtim'; did you mean 'runtime'"):
        run(runtim=3)
    with pytest.raises(TypeError, match="no keyword 'io_depth'; did you mean 'iodepth'"):
        run(rw="read", io_depth=3)
    with pytest.raises(TypeError, match="no keyword 'xyzzy'$"):
        run("quick", xyzzy=3)
    with pytest.raises(TypeError, match="bs= is part of a job"):
        run("quick", bs="4k")
    with pytest.raises(TypeError, match="iodepth= is part of a job"):
        run(QUICK, iodepth=3)
    for nonsense in (5, b"quick", [], [3], ("quick",)):
        with pytest.raises(TypeError):
            run(nonsense)  # type: ignore[arg-type]
    odd: List[Dict[str, Any]] = [{"scenario": [True]}, {"data": object()}, {"runtime": [[1]]}]
    for options in odd:
        with pytest.raises(TypeError, match="is no value of that option"):
            run("quick", **options)
    with pytest.raises(ValueError, match="no text that a program can be given"):
        run("quick", data="a\0b")
    with pytest.raises(TypeError, match="NoneType is no value of an option"):
        run({"rw": None}, out="out")
    assert sorted(os.listdir(place)) == ["data"]


def test_an_earlier_record_is_not_taken_for_this_run_s(place: Path) -> None:
    first = run(QUICK, data="data", out="out")
    with pytest.raises(IoboundError) as caught:
        run({**QUICK, "bs": "nonsense"}, data="data", out="out")
    assert caught.value.run is None
    assert load("out").id == first.id
    assert "nonsense" not in (place / "out" / JOB_FILE).read_text()
    second = run({**QUICK, "bs": "16k"}, data="data", out="out")
    assert load("out").id == second.id != first.id


def test_a_file_of_somebody_else_is_not_replaced(place: Path) -> None:
    (place / JOB_FILE).write_text("mine")
    with pytest.raises(IoboundError, match="is not iobound's; choose another place"):
        run(QUICK, data="data", out=".")
    assert (place / JOB_FILE).read_text() == "mine"
    (place / "file").write_text("mine")
    with pytest.raises(IoboundError, match="choose another place with out="):
        run(QUICK, data="data", out="file/out")


def test_its_words_are_shown_when_asked_for(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(QUICK, data="data", out="out")
    assert capsys.readouterr() == ("", "")
    run(QUICK, data="data", out="out", quiet=False)
    shown = capsys.readouterr()
    assert "job" in shown.err and "randread 4k qd1" in shown.out


CHILD = """
    import sys
    from iobound.runs import RunInterrupted, run
    print("ready", flush=True)
    try:
        run({"rw": "randwrite", "bs": "4k", "size": "4m", "runtime": "60s", "time_based": 1},
            data="data", out="out", interval="100ms")
    except RunInterrupted as stopped:
        print(stopped.run.interrupted, stopped.run.exit_code, stopped.run.scenarios[0].mark)
        sys.exit(7)
"""


def test_ctrl_c_ends_the_run_and_keeps_what_it_measured(place: Path) -> None:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        # A process group of its own stands for a terminal's foreground.
        start_new_session=True,
    )  # fmt: skip
    try:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        until = time.monotonic() + 30
        while not list(Path("data").iterdir()) and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(2.0)
        # As a terminal does: to all of the group.
        os.killpg(child.pid, signal.SIGINT)
        said, errors = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    # A second Ctrl-C, had the program got one, would have left nothing to load.
    assert (child.returncode, said) == (7, "True 4 cut\n"), errors
    assert load("out").interrupted
    assert list(Path("data").iterdir()) == []


def test_a_run_that_broke_brings_what_it_measured(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(place, monkeypatch, 'exec timeout --preserve-status -s INT 3 "$IOBOUND" "$@"')
    with pytest.raises(IoboundError) as caught:
        run(rw="randread", size="4m", runtime="60s", data="data", out="out")
    error = caught.value
    assert (error.exit_code, error.message) == (4, "interrupted; 1 jobs have a result")
    assert error.run is not None and error.run.interrupted
    assert error.run.verdict.status == "cut"
    measured = error.run.scenarios[0].measurement
    assert measured is not None and measured.iops > 0


def test_programs_that_are_none(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(script: str) -> IoboundError:
        pretend(place, monkeypatch, script)
        with pytest.raises(IoboundError) as caught:
            run("quick", out="out")
        return caught.value

    killed = failed("kill -SEGV $$")
    assert killed.exit_code == -signal.SIGSEGV and "ended by SIGSEGV" in killed.message
    assert failed("exit 0").message == "the program wrote no record"
    assert failed("echo 'iobound: no' >&2; exit 2").message == "no"
    assert failed("exit 9").message == "the program ended with exit code 9"
    # As much as pipes do not hold.
    assert "x" * 1000 in failed("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 2").message
    (place / "pretended").write_text("no program")
    with pytest.raises(IoboundError, match="cannot be started: .*Exec format error"):
        run("quick")


def test_where_the_program_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / name for name in ("named", "scripts", "on-path")]
    for directory in places:
        directory.mkdir()
        (directory / "iobound").write_text("#!/bin/sh\n")
        (directory / "iobound").chmod(0o755)
    named, scripts, on_path = (directory / "iobound" for directory in places)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(scripts.parent))
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("IOBOUND_PROGRAM", str(named))
    assert find_program() == named
    named.chmod(0o644)
    with pytest.raises(
        ProgramNotFound, match=r"IOBOUND_PROGRAM is .*, which is no program; set it"
    ):
        find_program()
    monkeypatch.delenv("IOBOUND_PROGRAM")
    assert find_program() == scripts
    scripts.unlink()
    assert find_program() == on_path
    on_path.unlink()
    with pytest.raises(ProgramNotFound, match=r"install it with 'pip install iobound', or set"):
        find_program()


def test_the_keywords_are_the_program_s_options() -> None:
    told = subprocess.check_output([program(), "run", "--help"], text=True)
    options = {
        name.replace("-", "_") for name in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", told, re.M)
    }
    keywords = {
        name
        for name, parameter in inspect.signature(run).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    # Printing fio's command is no run.
    assert keywords == options - {"help", "print_fio"}


def test_the_job_options_are_the_program_s() -> None:
    table = REPOSITORY / "crates" / "jobfile" / "src" / "options"
    if not table.is_dir():
        assert os.environ.get("CI") != "true", "CI says where the repository is (IOBOUND_SOURCE)"
        pytest.skip("SKIPPED: not in the repository")
    names = set()
    for file in table.glob("*.rs"):
        for row in re.finditer(r'name: "(\w+)",\s*aliases: &\[([^]]*)\]', file.read_text()):
            names |= {row[1], *re.findall(r'"(\w+)"', row[2])}
    assert len(names) > 50
    assert names == JOB_OPTIONS


def test_values_in_toml() -> None:
    table = {"a b": [1, 2.5, True], "n": None, "p": Path("/x"), "t": 'q"\\\n\x7f\x01é'}
    assert (
        toml_value(table)
        == '{ "a b" = [1, 2.5, true], p = "/x", t = "q\\"\\\\\\n\\u007F\\u0001é" }'
    )
    for value, error in ((float("nan"), ValueError), ("\ud800", ValueError), (b"x", TypeError)):
        with pytest.raises(error):
            toml_value(value)
