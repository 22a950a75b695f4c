import pytest
import yaml
from measure_fakes import MB, abyss_kernel, phase

from wavetank.campaign.attempt import clusters_for, mappings_for, write_attempt
from wavetank.campaign.clusters import facts_of
from wavetank.campaign.plan import why_not
from wavetank.campaign.spec import read_campaign
from wavetank.cluster.spec import read_spec
from wavetank.errors import SpecError
from wavetank.kernel.plan import Kernel

KERNEL = abyss_kernel()


def with_readers(n):
    kernel = abyss_kernel(n_ranks=n)
    phases = tuple(phase(rank + 1, 1, [rank], 10 * MB) for rank in range(n))
    return kernel.model_copy(update={"phases": phases})


@pytest.mark.parametrize(
    ("kernel", "mappings"),
    [
        (KERNEL, ["1PxCN", "2PxCN"]),  # two readers: apart, together
        (with_readers(1), ["1PxCN"]),
        (with_readers(16), ["4PxCN", "8PxCN"]),  # on four nodes, on two
    ],
)
def test_io_processes_are_mapped_apart_and_together(kernel, mappings):
    assert mappings_for(kernel) == mappings


@pytest.mark.parametrize("n", [1, 2, 16, 100])
def test_every_default_mapping_fits_every_default_cluster(n):
    kernel = with_readers(n)
    for cluster in clusters_for(kernel, kernel.capacity_bytes):
        for mapping in mappings_for(kernel):
            assert why_not(kernel, facts_of(cluster), mapping, oversubscribe=True) is None


def test_two_input_files_are_tried_on_a_server_each():
    assert "try-glusterfs-1dfx1f" in [cluster.name for cluster in clusters_for(KERNEL, MB)]


def test_the_storage_has_room_for_the_application():
    for cluster in clusters_for(KERNEL, 10**9):
        assert facts_of(cluster).capacity_bytes >= 1.5 * 10**9


def test_the_files_can_be_read_again(tmp_path):
    path = write_attempt(KERNEL, None, tmp_path, repetitions=5, free_bytes=10**12)
    spec = read_campaign(path)
    assert spec.repetitions == 5 and spec.prices is not None
    assert spec.baseline == "try-nfs"
    assert read_spec(spec.clusters[0]).name == "try-nfs"
    assert Kernel.read(spec.applications[0].kernel) == KERNEL
    assert "wavetank campaign run" in path.read_text()


@pytest.mark.parametrize(("place", "named"), [("out/m.json", "m.json"), ("m.json", "model.json")])
def test_a_folder_names_its_model_so_that_it_can_be_moved(tmp_path, place, named):
    (tmp_path / "out").mkdir()
    (tmp_path / place).write_text("{}")
    path = write_attempt(
        KERNEL, tmp_path / place, tmp_path / "out", repetitions=1, free_bytes=10**12
    )
    body = yaml.safe_load(path.read_text())
    assert body["applications"][0]["model"] == named
    assert (tmp_path / "out" / named).read_text() == "{}"


def test_an_application_that_this_machine_cannot_hold_is_refused(tmp_path):
    with pytest.raises(SpecError, match="free for them"):
        write_attempt(KERNEL, None, tmp_path, repetitions=1, free_bytes=MB)
    assert not list(tmp_path.iterdir())
