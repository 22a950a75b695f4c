"""Use over repetitions, the parts of a configuration's time, and the advice on them."""

import pytest
from compare_fakes import configuration
from measure_fakes import PROVENANCE, phase, phase_result, replay_result

from wavetank.compare.comparison import Place, Ranking
from wavetank.compare.metrics import Averager, describe
from wavetank.compare.use import ConfigurationUse, UseOf, configuration_use, median_use, use_of
from wavetank.compare.use_advice import machine_advice, use_advice
from wavetank.compare.use_parts import calls_words, parts_of, share, shares_words
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.measure.bottleneck import bottleneck
from wavetank.measure.result import CacheState, Measurement
from wavetank.measure.use import MeasuredUse, PhaseUse, ResourceUse, Use

MB = 10**6


def resource(name, kind, busiest, node="io1", *, limit=80.0 * MB, unit="B/s"):
    return ResourceUse(
        resource=name, kind=kind, busiest=busiest, busiest_node=node, mean=busiest, amount=busiest * limit, limit=limit,
        unit=unit,
    )  # fmt: skip


def use(*resources, **more):
    return Use(**{
        "span_s": 1.0, "n_readings": 40, "resources": resources, "waiting": 0.0, "n_ranks": 2, "in_flight": 1.5,
        "call_s": 0.002, **more,
    })  # fmt: skip


def writes(busiest, node="io1", **more):
    return use(resource("disk write", "io", busiest, node), **more)


def of_configuration(each):
    return ConfigurationUse(
        whole=UseOf(use=each, bottleneck=bottleneck(each)), outside=use_of([None]), n_repetitions=1
    )


def with_use(cluster, time_s, each):
    return configuration(cluster, [time_s]).model_copy(update={"use": of_configuration(each)})


def test_each_share_is_its_median_and_the_busiest_node_the_most_frequent_one():
    found = median_use([writes(0.2, "io1"), writes(0.9, "io2", span_s=3.0), writes(0.5, "io2")])
    (disk,) = found.resources
    assert (disk.busiest, disk.busiest_node) == (0.5, "io2")
    assert found.span_s == 1.0


def kernel():
    return Kernel(
        provenance=PROVENANCE, application="a", model_sha256="0" * 64, n_ranks=1,
        files=(KernelFile(file_id=1, name="f", role="output", prepare_bytes=0),),
        phases=(phase(1, 1, [0], MB, iop_type="write"), phase(2, 1, [0], MB, iop_type="write")),
        programs=(), capacity_bytes=MB,
    )  # fmt: skip


def measurement(repetition, measured):
    return Measurement(
        provenance=PROVENANCE, application="a", kernel_sha256="k", cluster="nfs", cluster_spec_sha256="s",
        instance_type="t", n_instances=2, mapping="1PxCN", repetition=repetition, order=0, origin="measured",
        cache=CacheState(state="cold", how=""), fs_settings={}, limits={}, file_placement={}, versions={},
        result=replay_result(phase_result(1, MB, 0.0, 1.0), phase_result(2, MB, 1.0, 1.1)), use=measured,
    )  # fmt: skip


def measured(share):
    return MeasuredUse(
        every_s=0.025, whole=writes(share), outside=None,
        phases=(PhaseUse(ph_id=1, use=writes(share)),),
    )  # fmt: skip


def test_a_configuration_and_its_phases_tell_their_use_and_what_is_too_short():
    runs = [measurement(i, measured(share)) for i, share in enumerate((0.7, 0.9, 0.95))]
    found = describe(
        runs, kernel(), title="NFS", instances={"t": 2}, prices=None, over_runs=Averager()
    )
    assert found.use.whole.bottleneck.name == "disk write of io1"
    assert found.use.n_repetitions == 3
    first, second = found.phases
    assert first.use.bottleneck.use == 0.9
    assert second.use.bottleneck.name == "too short to tell"
    words = {part.words: part.bottleneck for part in parts_of(found)}
    assert words == {
        "all of the I/O": "disk write of io1: 90 % of 80.0 MB/s",
        "phase 1, write": "disk write of io1: 90 % of 80.0 MB/s",
        "phase 2, write": "too short to tell",
        "outside of phases": "too short to tell",
    }


def test_a_measurement_without_use_is_not_known_and_reads_as_it_was_written_before():
    old = measurement(0, None).model_dump(mode="json", exclude={"use"})
    again = Measurement.model_validate(old)
    assert again.use is None
    assert configuration_use([again]) is None
    found = describe(
        [again], kernel(), title="NFS", instances={"t": 2}, prices=None, over_runs=Averager()
    )
    assert found.use is None
    assert {part.bottleneck for part in parts_of(found)} == {"not known"}


def test_shares_of_clients_and_servers_stand_side_by_side():
    found = use(
        resource("disk write", "io", 0.6), resource("disk write", "compute", 0.7, "c1"),
        resource("disk read", "io", 0.04),
    )  # fmt: skip
    assert share(found, "disk write", "compute", "io") == 0.7
    assert share(found, "network in", "io") is None
    assert shares_words(share(found, "disk read", "io"), 0.6) == "4 / 60 %"
    assert shares_words(None, 0.6) == "- / 60 %"
    assert shares_words(None, None) == "-"
    assert calls_words(found) == "1.5 at a time, 2 ms each"


def ranking(configurations, ties=()):
    return Ranking(
        application="a", by="time",
        places=tuple(
            Place(
                configuration=each.id, value=each.io_time_s, best=1 + i, worst=1 + i,
                ties_with=ties if i == 0 else (),
            )
            for i, each in enumerate(configurations)
        ),
    )  # fmt: skip


def sentences(*configurations, ties=(), shared=None):
    found = use_advice("a", shared or kernel(), configurations, ranking(configurations, ties))
    return [each.sentence for each in found]


def test_advice_says_what_the_best_one_waits_for_and_what_would_help():
    (sentence,) = sentences(with_use("NFS", 1.0, writes(0.97)))
    assert sentence == (
        "On NFS with 1PxCN the time goes to the disk write of io1: 97 % of 80.0 MB/s; "
        "faster disks or more data servers would help there."
    )


def test_advice_explains_a_configuration_that_is_slow_with_nothing_full():
    slow = with_use("CephFS", 15.7, writes(0.06, call_s=0.0115, in_flight=2.0))
    _, sentence = sentences(with_use("NFS", 2.1, writes(0.9)), slow)
    # 15.7 / 2.1 = 7.5
    assert sentence == (
        "CephFS with 1PxCN: 7.5 times the best one's I/O time, with no resource full. "
        "Ranks wait for single requests there (11.5 ms each, 2.0 at a time from 2 ranks)."
    )


@pytest.mark.parametrize(("mapping", "said"), [("1PxCN", True), ("2PxCN", True), ("4PxCN", False)])
def test_advice_says_that_cephfs_buffers_no_file_that_several_nodes_write(mapping, said):
    # four ranks write one file: on four nodes, on two, on one
    shared = kernel().model_copy(
        update={"phases": (phase(1, 1, [0, 1, 2, 3], MB, iop_type="write"),), "n_ranks": 4}
    )
    slow = with_use("CephFS", 15.7, writes(0.06)).model_copy(
        update={"settings": {"file system": "cephfs, bluestore"}, "mapping": mapping}
    )
    first = with_use("NFS", 2.1, writes(0.9))
    assert ("CephFS brings each write" in sentences(first, slow, shared=shared)[-1]) == said
    other = slow.model_copy(update={"settings": {"file system": "glusterfs"}})
    assert "CephFS brings" not in sentences(first, other, shared=shared)[-1]


def test_advice_says_where_the_emulation_was_the_limit():
    machine = resource("processors", "machine", 1.0, "machine", limit=2.0, unit="cores")
    busy = with_use("NFS", 1.0, use(machine, other_cores=1.25))
    quiet = with_use("CephFS", 1.2, writes(0.9))
    (advice,) = machine_advice("a", [busy, quiet])
    assert advice.sentence.startswith(
        "The processors of this machine were full (up to 1.2 cores for other work) on NFS with 1PxCN: "
    )
