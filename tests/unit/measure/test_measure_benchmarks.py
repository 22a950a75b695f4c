"""Benchmarks on a cluster: on which nodes files are handled, and how a failing fio is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from measure_fakes import FakeCluster, FakeHost, abyss_kernel

from wavetank.cluster.host import Finished
from wavetank.errors import ClusterError, KernelError, RemoteCommandError
from wavetank.job import Placement
from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.measure.benchmarks import (
    ClusterFiles,
    FioPerformer,
    program_on_nodes,
    why_not_with,
)


class Shared(FakeCluster):
    is_global = True


@pytest.mark.parametrize(("cluster", "nodes"), [(Shared(), {"c1"}), (FakeCluster(), {"c1", "c2"})])
def test_shared_files_are_handled_by_one_node_and_local_ones_by_each(cluster, nodes):
    files = ClusterFiles(cluster)
    files.link(Path("/wavetank/in"), Path("/wavetank/name"))
    files.move(Path("/wavetank/name"), Path("/wavetank/out"))
    files.remove(Path("/wavetank/out"))
    assert {entry[0] for entry in cluster.log} == nodes
    assert len(cluster.log) == 3 * len(nodes)


def test_a_node_that_fails_is_named():
    cluster = Shared()
    cluster.compute_hosts[0].fails_on = "sh"
    with pytest.raises(RemoteCommandError, match="c1"):
        ClusterFiles(cluster).remove(Path("/wavetank/out"))


def reports(text, error=0):
    """What fio prints of a job file: each job moves its bytes in a second."""
    jobs = [
        {
            "jobname": line[1:-1],
            "error": error,
            **{
                way: {"io_bytes": 8191, "total_ios": 1, "iops": 1.0, "clat_ns": {"max": 1, "mean": 1.0}}
                for way in ("read", "write")
            },
        }
        for line in text.splitlines()
        if line.startswith("[phase")
    ]  # fmt: skip
    return json.dumps({"fio version": "fio-3", "jobs": jobs})


@pytest.mark.parametrize("error", [0, 28])
def test_each_node_gets_the_jobs_of_its_ranks_and_rounds_follow_each_other(error, monkeypatch):
    cluster, given = FakeCluster(), []
    for host in cluster.compute_hosts:

        def run(argv, *, timeout_s=60.0, env=None, stdin="", host=host):
            given.append((host.name, [line for line in stdin.splitlines() if line[:1] == "["]))
            return Finished(reports(stdin, error), "No space left", 0.0)

        monkeypatch.setattr(host, "run", run)
    kernel = abyss_kernel(n_ranks=2)
    placement = Placement(hosts=(("c1", 1), ("c2", 1)))
    performer = FioPerformer(cluster)
    if error:
        with pytest.raises(KernelError, match=r"fio on c[12] failed in phase-\d+-rank-[01]"):
            performer.perform(kernel, "/wavetank/k", placement)
        return
    result = performer.perform(kernel, "/wavetank/k", placement)
    for name, sections in given:
        rank = {"c1": 0, "c2": 1}[name]
        assert all(section.endswith(f"-rank-{rank}]") for section in sections[1:])
    asked = [section for _, sections in given for section in sections[1:]]
    assert sorted(asked) == sorted(f"[{job.name}]" for job in fio_plan(kernel).jobs)
    starts = {phase.ph_id: phase.ranks[0].start_s for phase in result.phases}
    # each round takes the second that its jobs say
    waits, expected = 0.0, {}
    for job in fio_plan(kernel).jobs:
        waits += 1.0 if job.waits else 0.0
        expected[job.ph_id] = waits
    assert starts == expected


def test_a_program_without_a_phase_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr("wavetank.measure.benchmarks.find_program", lambda name: None)
    assert "fio is not installed" in why_not_with(abyss_kernel(), "fio")
    assert why_not_with(abyss_kernel(), "replay") is None


class Elsewhere(FakeHost):
    """A machine with files of its own, to which programs can be brought."""

    def bring(self, program):
        self.log.append((self.name, "brought", str(program)))
        return f"/home/programs/{program.name}"


def test_ior_is_used_where_nodes_have_it_and_brought_where_one_has_none():
    log = []
    hosts = [Elsewhere("c1", log), Elsewhere("c2", log)]
    assert program_on_nodes("/opt/ior", hosts) == "/opt/ior"
    assert ("c1", "brought", "/opt/ior") not in log
    hosts[1].fails_on = "test"  # there is no such file
    assert program_on_nodes("/opt/ior", hosts) == "/home/programs/ior"
    assert {each for each in log if "brought" in each} == {
        ("c1", "brought", "/opt/ior"),
        ("c2", "brought", "/opt/ior"),
    }
    alone = FakeHost("c1", log)
    alone.fails_on = "test"
    with pytest.raises(ClusterError, match="there is no /opt/ior on c1"):
        program_on_nodes("/opt/ior", [alone])
