"""``wavetank try``: which clusters it compares for which I/O, what they stand for, and the files that it leaves."""

import re

import pytest
import yaml
from fold_builder import Event, model_of
from measure_fakes import MB, abyss_kernel, phase

from wavetank.campaign.attempt import Machine, Wishes, write_attempt
from wavetank.campaign.attempt_notes import (
    LEAST_MEMORY_BYTES,
    free_memory_bytes,
    instance_with,
    memory_for,
    notes_for,
)
from wavetank.campaign.candidates import (
    MOST_CLUSTERS,
    clusters_for,
    mappings_for,
    placement_of,
)
from wavetank.campaign.clusters import facts_of
from wavetank.campaign.plan import why_not
from wavetank.campaign.spec import read_campaign
from wavetank.cluster.spec import read_spec
from wavetank.errors import SpecError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.phase import UnknownOffsets

MIB, GIB = 1 << 20, 1 << 30
KERNEL = abyss_kernel()
NODE = instance_with(GIB)
ROOMY = Machine(free_bytes=10**12)


def with_readers(n):
    kernel = abyss_kernel(n_ranks=n)
    phases = tuple(phase(rank + 1, 1, [rank], 10 * MB) for rank in range(n))
    return kernel.model_copy(update={"phases": phases})


def kernel_of(events, tmp_path):
    model = model_of(events)
    model.write(tmp_path / "m.json")
    return make_kernel(model, tmp_path / "m.json")


def shared_file(size, n_ranks=4):
    """Each rank writes its part of one file, a MiB at a time."""
    part = size // n_ranks
    return [
        Event(rank, "pwrite", offset=rank * part + at, size=MIB)
        for rank in range(n_ranks)
        for at in range(0, part, MIB)
    ]


def names(kernel, **more):
    return [
        cluster.name.removeprefix("try-") for cluster in clusters_for(kernel, NODE, **more).clusters
    ]


# --- which clusters ---------------------------------------------------------------------------------


def test_a_shared_file_is_tried_on_layouts_that_spread_it(tmp_path):
    kernel = kernel_of(shared_file(64 * MIB), tmp_path)
    assert placement_of(kernel).kind == "shared"
    clusters = clusters_for(kernel, NODE).clusters
    several = [each for each in clusters if len(each.server_names()) > 1]
    # "distributed" keeps a file on one server: more servers could not help.
    assert several and all(each.file_system.stripe.kind == "sharded" for each in several)
    stripes = {(each.file_system.kind, each.file_system.stripe.size) for each in several}
    assert {
        ("glusterfs", 4 * MIB),
        ("cephfs", 4 * MIB),
        ("cephfs", MIB),
        ("orangefs", 64 * 1024),
    } == stripes
    assert {each.file_system.kind for each in clusters} == {
        "nfs",
        "glusterfs",
        "cephfs",
        "orangefs",
    }


def test_stripes_that_would_not_reach_all_servers_are_not_tried(tmp_path):
    # 10 MiB: 4 MiB on two servers need 8, on three 12.
    kernel = kernel_of(shared_file(10 * MIB, n_ranks=2), tmp_path)
    choice = clusters_for(kernel, NODE)
    assert "glusterfs-2-4m" in names(kernel) and "glusterfs-3-4m" not in names(kernel)
    assert any(
        "The largest file has 10.0 MiB: stripes of 4.0 MiB and more" in each
        for each in choice.left_out
    )


def test_two_input_files_are_tried_on_a_server_each():
    assert placement_of(KERNEL).kind == "inputs"
    found = names(KERNEL)
    assert "glusterfs-1dfx1f" in found and "glusterfs-3-4m" in found


def test_many_files_are_tried_whole_on_one_two_and_three_servers(tmp_path):
    events = [
        Event(rank, "write", rank, offset=i * MIB, size=MIB) for rank in range(8) for i in range(8)
    ]
    kernel = kernel_of(events, tmp_path)
    assert placement_of(kernel).kind == "many"
    clusters = clusters_for(kernel, NODE).clusters
    whole = [each for each in clusters if each.file_system.kind == "glusterfs"]
    assert [len(each.server_names()) for each in whole] == [1, 2, 3]
    assert all(each.file_system.stripe.kind == "distributed" for each in whole)


def test_one_output_file_of_one_rank_is_spread_too(tmp_path):
    kernel = kernel_of([Event(0, "write", offset=i * MIB, size=MIB) for i in range(64)], tmp_path)
    placement = placement_of(kernel)
    assert placement.kind == "few"
    assert placement.sentence.startswith("One file carries 100 % of the bytes")
    assert "glusterfs-3-4m" in names(kernel)


def test_a_file_without_known_offsets_is_as_large_as_what_is_moved(tmp_path):
    kernel = kernel_of(shared_file(64 * MIB), tmp_path)
    unknown = tuple(
        each.model_copy(update={"offset": (UnknownOffsets(),) * len(each.offset)})
        for each in kernel.phases
    )
    kernel = kernel.model_copy(update={"phases": unknown})
    assert placement_of(kernel).largest_bytes == 64 * MIB


def test_file_systems_that_cannot_come_up_here_are_left_out_with_the_reason():
    def problems(spec):
        return {
            "cephfs": ["ceph-osd is missing"],
            "orangefs": ["pvfs2-server, pvfs2fuse are missing"],
        }.get(spec.file_system.kind, [])

    choice = clusters_for(KERNEL, NODE, problems=problems)
    assert {each.file_system.kind for each in choice.clusters} == {"nfs", "glusterfs"}
    assert "CephFS is not compared: ceph-osd is missing." in choice.left_out
    assert "OrangeFS is not compared: pvfs2-server, pvfs2fuse are missing." in choice.left_out


def test_cephfs_needs_memory_of_the_machine():
    choice = clusters_for(KERNEL, NODE, free_memory_bytes=GIB)
    assert not any(each.file_system.kind == "cephfs" for each in choice.clusters)
    assert any(
        "CephFS is not compared: it needs 2.0 GiB of free memory" in each
        for each in choice.left_out
    )


@pytest.mark.parametrize("n", [1, 2, 16, 100])
def test_every_mapping_fits_every_cluster_and_there_are_few_of_them(n):
    kernel = with_readers(n)
    clusters, mappings = clusters_for(kernel, NODE).clusters, mappings_for(kernel)
    assert (
        len({each.name for each in clusters}) == len(clusters) <= MOST_CLUSTERS
        and len(mappings) == 1
    )
    for cluster in clusters:
        for mapping in mappings:
            assert why_not(kernel, facts_of(cluster), mapping, oversubscribe=True) is None


@pytest.mark.parametrize(
    ("kernel", "mapping"),
    [(KERNEL, "1PxCN"), (with_readers(1), "1PxCN"), (with_readers(16), "4PxCN")],
)
def test_io_processes_are_spread_over_the_nodes(kernel, mapping):
    assert mappings_for(kernel) == (mapping,)


def test_the_storage_has_room_for_the_application():
    kernel = KERNEL.model_copy(update={"capacity_bytes": 10**9})
    for cluster in clusters_for(kernel, NODE).clusters:
        assert facts_of(cluster).capacity_bytes >= 1.5 * 10**9


# --- what a node stands for -------------------------------------------------------------------------


def files_of(size):
    return KERNEL.model_copy(update={"capacity_bytes": size})


@pytest.mark.parametrize(
    ("files", "free", "memory"),
    [
        (54 * MB, 24 * GIB, GIB),  # fits into 1 GiB as it fits into the 15 GiB of c3.2xlarge
        (2 * GIB, 24 * GIB, 4 * GIB),  # would not fit into 1 GiB, and fits into 15
        (2 * GIB, 4 * GIB, GIB),  # the machine cannot hold the files three times
        (100 * GIB, 500 * GIB, 15 * GIB),  # fits into neither
    ],
)
def test_files_fit_into_a_nodes_memory_as_into_the_instances(files, free, memory):
    assert memory_for(files_of(files), free, None) == memory


def test_memory_that_is_asked_for_has_a_lower_bound():
    assert memory_for(KERNEL, None, 512 * MIB) == 512 * MIB
    with pytest.raises(SpecError, match=r"256\.0 MiB or more"):
        memory_for(KERNEL, None, LEAST_MEMORY_BYTES - 1)


def test_what_is_emulated_is_said_with_its_numbers():
    # The catalogue's c3.2xlarge: 8 vCPUs, 15 GiB, 1 Gbit/s = 125 MB/s, EBS 125 MB/s.
    (stands, caches) = notes_for(KERNEL, GIB)
    assert "c3.2xlarge: 8 vCPUs, 15.0 GiB, 125.0 MB/s of network and 125.0 MB/s of disk" in stands
    assert "memory is limited to 1.0 GiB" in stands
    # 2 * 27 MB + 4 * 20 kB = 54,080,000 B = 51.6 MiB, each byte read once.
    assert (
        "(51.6 MiB) fit into the memory of every node (1.0 GiB; c3.2xlarge has 15.0 GiB)" in caches
    )
    assert "First reads still come from disks" in caches


def test_bytes_that_caches_answer_are_said_with_their_share(tmp_path):
    # 64 MiB are written and read back once: half of all bytes.
    back = [Event(0, op, offset=i * MIB, size=MIB) for op in ("write", "read") for i in range(64)]
    (_, caches) = notes_for(kernel_of(back, tmp_path), GIB)
    assert "64.0 MiB are read after they were read or written (50 % of all bytes)" in caches
    assert "there caches, not disks, are compared" in caches and "--memory" in caches


def test_files_that_would_fit_into_the_instance_alone_are_said(tmp_path):
    (_, caches) = notes_for(files_of(4 * GIB), GIB)
    assert (
        "do not fit into the memory of a node (1.0 GiB), and would fit into that of c3.2xlarge"
        in caches
    )
    assert len(notes_for(files_of(100 * GIB), 15 * GIB)) == 1


def test_free_memory_is_what_linux_says(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nMemAvailable:   18043616 kB\n")
    assert free_memory_bytes(tmp_path / "meminfo") == 18043616 * 1024
    assert free_memory_bytes(tmp_path / "nothing") is None


# --- the files --------------------------------------------------------------------------------------


def test_the_files_can_be_read_again(tmp_path):
    path = write_attempt(KERNEL, None, tmp_path, Wishes(5), ROOMY)
    spec = read_campaign(path)
    assert spec.repetitions == 5 and spec.prices is not None
    assert re.fullmatch("try-[0-9a-f]{4}-nfs", str(spec.baseline))
    assert read_spec(spec.clusters[0]).name == spec.baseline
    assert Kernel.read(spec.applications[0].kernel) == KERNEL
    assert "wavetank run" in path.read_text()
    assert any("stands for c3.2xlarge" in note for note in spec.notes)
    assert any("2 input files carry" in note for note in spec.notes)


def test_attempts_of_two_folders_can_run_at_once(tmp_path):
    names = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        path = write_attempt(KERNEL, None, tmp_path / name, Wishes(), ROOMY)
        again = write_attempt(KERNEL, None, tmp_path / name, Wishes(), ROOMY)
        assert read_campaign(again).baseline == read_campaign(path).baseline
        names.append({read_spec(file).name for file in read_campaign(path).clusters})
    assert not names[0] & names[1]


def test_wishes_are_kept(tmp_path):
    wishes = Wishes(3, ("1PxCN", "2PxCN"), 512 * MIB)
    spec = read_campaign(write_attempt(KERNEL, None, tmp_path, wishes, ROOMY))
    assert spec.mappings == ("1PxCN", "2PxCN")
    assert all(read_spec(path).instance.memory == 512 * MIB for path in spec.clusters)


@pytest.mark.parametrize(("place", "named"), [("out/m.json", "m.json"), ("m.json", "model.json")])
def test_a_folder_names_its_model_so_that_it_can_be_moved(tmp_path, place, named):
    (tmp_path / "out").mkdir()
    (tmp_path / place).write_text("{}")
    path = write_attempt(KERNEL, tmp_path / place, tmp_path / "out", Wishes(1), ROOMY)
    body = yaml.safe_load(path.read_text())
    assert body["applications"][0]["model"] == named
    assert (tmp_path / "out" / named).read_text() == "{}"


def test_an_application_that_this_machine_cannot_hold_is_refused(tmp_path):
    with pytest.raises(SpecError, match="free for them"):
        write_attempt(KERNEL, None, tmp_path, Wishes(1), Machine(free_bytes=MB))
    assert not list(tmp_path.iterdir())
