from errno import EACCES
from pathlib import Path

import pytest
from measure_fakes import (
    MB,
    FakeCluster,
    FakePerformer,
    abyss_kernel,
    abyss_result,
    replay_result,
)

from wavetank.cluster.namespaces.host import drop_all_caches
from wavetank.errors import ClusterError, KernelError, MeasurementError, RemoteCommandError
from wavetank.kernel.document.kernel import KernelName
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.kernel.results.replay_output import OPENS_MADE_AGAIN
from wavetank.measure.run import explained, measure, remove_written, set_up, tear_down
from wavetank.notes import note, texts

KERNEL = abyss_kernel()


def run(cluster, performer=None, **more):
    performer = performer or FakePerformer(abyss_result, log=cluster.log)
    bench = set_up(KERNEL, cluster)
    return measure(bench, more.pop("mapping", "1PxCN"), performer, repetition=0, order=0, **more)


def test_input_files_are_placed_once_and_kept_between_repetitions():
    cluster = FakeCluster()
    performer = FakePerformer(abyss_result)
    bench = set_up(KERNEL, cluster)
    for repetition in range(3):
        measure(bench, "1PxCN", performer, repetition=repetition, order=repetition)
    assert [list(sizes.values()) for sizes in cluster.placed if sizes] == [[27 * MB, 27 * MB]]


def test_outputs_are_removed_and_caches_emptied_before_the_kernel_runs():
    cluster = FakeCluster()
    run(cluster)
    steps = [entry[0] if entry[0] not in ("c1", "c2") else entry[1] for entry in cluster.log]
    assert steps.index("rm") < steps.index("drop_caches") < steps.index("perform")
    removed = next(entry for entry in cluster.log if entry[1:3] == ("rm", "-f"))
    assert [path.rsplit("/", 1)[1] for path in removed[4:]] == [f"contigs-{r}.fa" for r in range(4)]


def test_the_readers_are_where_the_mapping_puts_them():
    cluster = FakeCluster()
    performer = FakePerformer(abyss_result)
    run(cluster, performer, mapping="2PxCN")
    ((_, root, placement),) = performer.calls
    assert placement.hosts == (("c1", 2), ("c2", 2))
    assert root.startswith("/wavetank/")


def test_a_measurement_says_what_it_takes_to_judge_it():
    made = run(FakeCluster(), seed=7)
    assert made.origin == "measured under emulated limits"
    assert made.cache.state == "cold" and made.cache.how == "by pretending"
    assert made.limits and made.fs_settings and made.versions["openmpi"] == "fake"
    assert made.n_instances == 3 and made.provenance.seed == 7


def test_a_dead_daemon_is_a_finding():
    made = run(FakeCluster(health=["glusterd died on io1"]))
    assert texts(made.notes) == ("glusterd died on io1",)


def test_opens_that_met_another_node_s_creation_are_a_finding():
    def answered(kernel):
        return abyss_result(kernel).model_copy(update={"settings": {OPENS_MADE_AGAIN: "3"}})

    (finding,) = texts(run(FakeCluster(), FakePerformer(answered)).notes)
    assert "failed with 'File exists' (3 in all)" in finding


def test_what_the_source_of_a_kernel_lost_is_a_finding_of_every_measurement():
    found = note("lost", "operations", "5 of 9 operations are missing")
    lost = str(found)
    cluster = FakeCluster(health=["glusterd died on io1"])
    bench = set_up(KERNEL.model_copy(update={"notes": (found,)}), cluster)
    made = measure(bench, "1PxCN", FakePerformer(abyss_result), repetition=0, order=0)
    assert texts(made.notes) == (lost, "glusterd died on io1")


def test_a_cold_read_above_the_limits_is_a_finding():
    made = run(FakeCluster(limits={"disk": "1 MB/s"}))
    assert any("may not have been cold" in finding for finding in texts(made.notes))


def test_caches_that_nobody_could_empty_are_a_finding(monkeypatch):
    def refuse(path, text):
        raise PermissionError(EACCES, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    said = drop_all_caches()
    monkeypatch.undo()
    cluster = FakeCluster()
    monkeypatch.setattr(cluster, "drop_caches", lambda: f"{said}; clients mounted again")
    made = run(cluster)
    (finding,) = texts(made.notes)
    assert finding.startswith(
        "page caches were not cold: caches of this machine not emptied: Permission denied"
    )
    assert (made.cache.state, made.cache.found) == ("cold", "not emptied")
    warm = run(cluster, cache="warm")
    assert (texts(warm.notes), warm.cache.found) == ((), "warm")


def test_warm_caches_come_from_an_uncounted_run():
    cluster = FakeCluster()
    performer = FakePerformer(abyss_result)
    made = run(cluster, performer, cache="warm")
    assert len(performer.calls) == 2
    assert made.cache.state == "warm" and ("drop_caches",) not in cluster.log


def test_a_failed_kernel_is_an_error_with_its_reason():
    failed = abyss_result(KERNEL).model_copy(
        update={"status": "failed", "failure": "rank 1: read reads2.fastq: Input/output error"}
    )
    with pytest.raises(MeasurementError, match="nfs with 1PxCN: rank 1: read reads2"):
        run(FakeCluster(), FakePerformer(failed))


def test_a_failing_node_is_not_hidden():
    cluster = FakeCluster()
    cluster.compute_hosts[0].fails_on = "mkdir"
    with pytest.raises(RemoteCommandError, match="on c1"):
        set_up(KERNEL, cluster)


class SharedFakeCluster(FakeCluster):
    """A cluster that knows its files to be the same on all nodes."""

    is_global = True


def test_every_node_forgets_the_names_of_files_that_are_removed():
    cluster = SharedFakeCluster()
    bench = set_up(KERNEL, cluster)
    assert [entry[0] for entry in cluster.log if "rm" in entry] == ["c1", "c2"]
    cluster.log.clear()
    remove_written(bench)
    assert [entry[0] for entry in cluster.log if "rm" in entry] == ["c1", "c2"]


def test_a_kernel_is_set_up_in_an_empty_folder():
    cluster = FakeCluster()
    root = set_up(KERNEL, cluster).root
    removals = [(entry[0], *entry[2:]) for entry in cluster.log if "rm" in entry]
    assert removals == [("c1", "-rf", "--", root), ("c2", "-rf", "--", root)]
    steps = [entry[1] if entry[0] in ("c1", "c2") else entry[0] for entry in cluster.log]
    assert max(i for i, step in enumerate(steps) if step == "rm") < steps.index("place")


def test_teardown_removes_the_kernels_folder_only():
    cluster = FakeCluster()
    bench = set_up(KERNEL, cluster)
    tear_down(bench)
    assert cluster.log[-1] == ("c2", "rm", "-rf", "--", bench.root)
    assert bench.root == f"/wavetank/kernel-{kernel_hash(KERNEL)[:12]}"


def test_kernels_that_differ_in_provenance_only_are_the_same():
    later = KERNEL.provenance.model_copy(update={"created_utc": "2027-01-01T00:00:00+00:00"})
    assert kernel_hash(KERNEL.model_copy(update={"provenance": later})) == kernel_hash(KERNEL)
    assert kernel_hash(abyss_kernel(weight=MB)) != kernel_hash(KERNEL)


class Spoilt:
    """Performs a kernel while a daemon of the cluster dies."""

    def __init__(self, cluster, how):
        self.cluster, self.how = cluster, how

    def perform(self, kernel, root, placement):
        del kernel, root, placement
        self.cluster._health = ["ganesha.nfsd on io1 died: out of memory"]
        if isinstance(self.how, Exception):
            raise self.how
        return self.how

    def versions(self):
        return {}


@pytest.mark.parametrize(
    "how",
    [
        replay_result().model_copy(update={"status": "failed", "failure": "rank 0: read: EIO"}),
        KernelError("rank 0: read: EIO"),
    ],
)
def test_a_failed_kernel_names_the_daemon_that_died_meanwhile(how):
    cluster = FakeCluster()
    bench = set_up(abyss_kernel(), cluster)
    with pytest.raises(
        MeasurementError, match=r"EIO; the cluster is not well: ganesha.nfsd on io1"
    ):
        measure(bench, "1PxCN", Spoilt(cluster, how), repetition=0, order=0)


def test_links_that_files_have_before_are_made_again_before_each_run():
    cluster = FakeCluster()
    first = KERNEL.files[0]
    names = (
        KernelName(name="hard", prepared="link"),
        KernelName(name="soft", prepared="symlink"),
        KernelName(name="made-by-the-run"),
    )
    linked = first.model_copy(update={"other_names": names, "role": "both"})
    kernel = KERNEL.model_copy(update={"files": (linked, *KERNEL.files[1:])})
    bench = set_up(kernel, cluster)
    measure(bench, "1PxCN", FakePerformer(abyss_result, log=cluster.log), repetition=0, order=0)
    links = [entry[2:] for entry in cluster.log if entry[:2] == ("c1", "ln")]
    made = [
        ("-f", "--", f"{bench.root}/{first.name}", f"{bench.root}/hard"),
        ("-sfn", "--", first.name, f"{bench.root}/soft"),
    ]
    assert links == made * 2
    removed = next(entry for entry in cluster.log if entry[1:3] == ("rm", "-f"))
    assert f"{bench.root}/made-by-the-run" in removed and f"{bench.root}/hard" in removed
    assert cluster.log.index(removed) < [entry[0] for entry in cluster.log].index("perform")


def test_what_fails_on_a_cluster_that_is_not_healthy_says_so():
    cluster = FakeCluster()
    with pytest.raises(ClusterError, match="rm failed"), explained(cluster):
        raise ClusterError("rm failed")
    cluster.health = lambda: ["io1: no brick of data runs"]
    said = "cluster .* is not healthy: io1: no brick of data runs. So this failed: rm failed"
    with pytest.raises(MeasurementError, match=said), explained(cluster):
        raise ClusterError("rm failed")
