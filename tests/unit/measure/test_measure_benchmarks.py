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
    LIBRARIES,
    ClusterFiles,
    FioPerformer,
    program_on_nodes,
    why_not_here,
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


def test_what_a_kernel_cannot_be_performed_by_and_what_is_not_installed_are_two_questions(
    monkeypatch, tmp_path
):
    monkeypatch.setattr("wavetank.measure.benchmarks.find_program", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_not_here("fio") == "fio is not installed: apt-get install fio"
    assert "IOR is not installed. Build it" in why_not_here("ior")
    assert why_not_here("replay") is None
    kernel = abyss_kernel()
    assert [why_not_with(kernel, program) for program in ("replay", "fio")] == [None, None]
    bare = kernel.model_copy(update={"ior": (), "ior_refused": ()})
    assert why_not_with(bare, "ior").endswith("ABYSS-P: the kernel has no IOR line")


class Elsewhere(FakeHost):
    """A machine with files of its own, to which programs can be brought."""

    ldd = ""

    def run(self, argv, **more):
        done = super().run(argv, **more)
        return Finished(self.ldd, "", 0.0) if LIBRARIES in argv else done

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


def test_libraries_that_a_brought_program_lacks_are_named_with_what_to_do():
    node = Elsewhere("c1", [])
    node.fails_on = "test"
    node.ldd = (
        "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpi.so.40 => /lib/libmpi.so.40 (0x00007f12)\n"
        "\tlibhdf5.so.103 => not found\n\tlibgpfs.so => not found\n"
    )
    with pytest.raises(ClusterError, match=r"c1, which has no libhdf5.so.103, libgpfs.so: build"):
        program_on_nodes("/opt/ior", [node])
