"""`ceilings` asks the real program what hardware promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import pytest
from program_needed import DATA, program

from iobound.ceilings import ceilings
from iobound.job_text import Job
from iobound.program import IoboundError
from iobound.runs import load

GP3: Dict[str, Any] = {"volumes": 8, "iops": 3000, "mibps": 125, "kind": "gp3"}


@pytest.fixture(autouse=True)
def needs_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, and an empty current directory."""
    program()
    monkeypatch.chdir(tmp_path)


def test_eight_volumes_in_raid10() -> None:
    rows = {row.scenario: row for row in ceilings(raid="10", **GP3)}
    assert len(rows) == 10
    # Every write goes to two of eight volumes: half of 8 x 3,000 operations, half of 8 x 125 MiB/s.
    assert rows["rand-write"].iops == 12_000 and rows["rand-write"].bound == "volume-iops"
    assert rows["seq-write"].bandwidth_bytes_per_s == 500 * 2**20
    assert rows["seq-write"].bound == "volume-bandwidth"
    # 70 reads and 30 writes cost 70 + 2 x 30 operations.
    assert rows["mixed"].iops == pytest.approx(24_000 / 1.3)
    mixed = rows["mixed"]
    assert (mixed.job.rw, mixed.job.bs, mixed.job.in_flight) == ("randrw", 8192, 256)
    assert [bound.bound for bound in mixed.bounds] == ["volume-iops", "volume-bandwidth"]
    assert mixed.bounds[0].iops == mixed.iops and "1.3" not in mixed.bounds[0].why
    assert mixed.layout == "raid10 of 8 x gp3 (3,000 IOPS, 125 MiB/s), chunk 64 KiB"
    assert mixed.ceiling is not None and mixed.ceiling.why == mixed.bounds[0].why
    assert mixed.burst is None


def test_each_option_tells() -> None:
    def write(**options: Any) -> float:
        job: Job = {"rw": "randwrite", "bs": "8k", "iodepth": 32}
        iops = ceilings(job, **{**GP3, "raid": 10, **options})[0].iops
        assert iops is not None
        return iops

    assert write() == 12_000
    assert write(raid=0) == 24_000 and write(raid=5) == 6_000
    assert write(volumes=4) == 6_000 and write(iops=100) == 400
    assert write(mibps=1) == 4 * 2**20 / 8192
    assert write(instance_iops=1000) == 500
    assert write(instance_mbps=1.6384) == pytest.approx(100)
    assert write(latency="10ms") == 3200
    one = ceilings({"rw": "write", "bs": "4k", "fdatasync": 1}, sync_latency="2ms", iops=10_000)
    assert one[0].iops is not None and one[0].iops <= 500


def test_jobs_as_values() -> None:
    sizes = [4096, 65536, 1 << 20]
    jobs: List[Job] = [{"rw": "randread", "bs": size, "iodepth": 64} for size in sizes]
    rows = ceilings(jobs, raid="linear", **GP3)
    assert [row.job.bs for row in rows] == sizes
    assert [row.scenario for row in rows] == ["job1", "job2", "job3"]
    bandwidth = [row.bandwidth_bytes_per_s for row in rows]
    assert bandwidth == sorted(bandwidth, key=lambda rate: rate or 0)
    # Where the file lies has no bearing, and nobody needs to say how large it is.
    job = {"rw": "read", "bs": "1m", "iodepth": 8, "filename": "/no/such", "name": "scan"}
    assert [row.scenario for row in ceilings(job, iops=100)] == ["scan"]
    # Where only a time is promised, it binds.
    assert ceilings({"rw": "read", "bs": "1m"}, latency="1ms")[0].bound == "latency"


def test_a_context_by_name_and_a_suite_by_name() -> None:
    name = "c8gb.2xlarge.33.25.8disk.raid10"
    (row,) = ceilings("etcd", context=name)
    assert row.scenario == "etcd-wal"
    rows = ceilings(context=name)
    assert {row.layout.split(":")[0] for row in rows} == {name}
    assert any("wal" in row.layout for row in rows) and len(rows) == 10


def test_the_context_of_a_record_gives_the_ceilings_of_the_record() -> None:
    run = load(DATA / "database.json")
    compared = 0
    for scenario in run.scenarios:
        if scenario.ceiling is None or not scenario.ceiling.bound.startswith("volume-"):
            continue
        job: Job = {
            key: scenario.job.raw[key] for key in ("rw", "bs", "iodepth", "numjobs", "rwmixread")
        }
        assert run.context is not None
        (row,) = ceilings(job, context=run.context, role=scenario.volume)
        assert row.ceiling == scenario.ceiling
        compared += 1
    assert compared >= 3


def test_what_cannot_be() -> None:
    def refused(*what: Any, **options: Any) -> str:
        with pytest.raises(IoboundError) as caught:
            ceilings(*what, **options)
        return caught.value.message

    assert "say what a volume promises" in refused()
    assert refused(volumes=0, iops=1) == "--volumes 0 is no storage; give at least 1"
    assert refused(volumes=2, iops=1).startswith("say how several volumes are joined")
    assert "needs at least 4 volumes" in refused(volumes=3, iops=1, raid=6)
    assert "use 0, 1, 5, 6, 10 or linear" in refused(volumes=2, iops=1, raid=7)
    assert "cannot be used with" in refused(context="nvme", iops=1)
    assert "did you mean 'nvme'" in refused(context="nvm")
    assert "bad value 'rw=x'" in refused({"rw": "x"}, iops=1)
    assert 'neither "data" nor "wal"' in refused({"rw": "read"}, iops=1, role="log")
    assert "'quikc' is neither a suite" in refused("quikc", iops=1)
    # It has a file system for data, and none for the log.
    assert "no file system with the role 'wal'" in refused(
        {"rw": "read"}, context="Standard_DS5_v2.2disk.lvm", role="wal"
    )
    for nonsense in ([], [3], [None]):
        with pytest.raises(TypeError):
            ceilings(nonsense, iops=1)  # type: ignore[arg-type]
    unknown: Dict[str, Any] = {"iopss": 3}
    with pytest.raises(TypeError, match="iopss"):
        ceilings(**unknown)
    assert list(Path().iterdir()) == []
