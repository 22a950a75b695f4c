"""Every way that a cluster file can be wrong is said, all at once, before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from wavetank.cluster import mpi, registry
from wavetank.cluster.components import FileSystem
from wavetank.cluster.spec import ClusterSpec, read_spec
from wavetank.errors import SpecError

GOOD: dict[str, Any] = {
    "name": "lab",
    "instance": {"name": "c3.2xlarge", "vcpus": 8, "memory": "15 GiB", "network": "1 Gbit/s"},
    "nodes": {"compute": 2, "io": 3, "head": 1},
    "file_system": {"kind": "glusterfs"},
}


def changed(**parts: Any) -> dict[str, Any]:
    body = {key: dict(value) if isinstance(value, dict) else value for key, value in GOOD.items()}
    for key, value in parts.items():
        section, _, name = key.partition("__")
        if name:
            body.setdefault(section, {})[name] = value
        else:
            body[section] = value
    return body


def findings(tmp_path: Path, body: dict[str, Any]) -> str:
    (tmp_path / "lab.yaml").write_text(yaml.safe_dump(body))
    with pytest.raises(SpecError) as caught:
        read_spec(tmp_path / "lab.yaml")
    return str(caught.value)


def test_nodes_are_named_by_what_they_do() -> None:
    spec = ClusterSpec.model_validate(GOOD)
    assert spec.node_names() == ("c1", "c2", "io1", "io2", "io3", "h1")
    assert spec.compute_names() == ("c1", "c2")
    assert spec.server_names() == ("io1", "io2", "io3")  # the default: all I/O nodes


@pytest.mark.parametrize(
    ("file_system", "servers"),
    [
        ({"servers": 2}, ("io1", "io2")),
        ({"placement": "compute"}, ("c1", "c2")),
        ({"placement": ["c2", "io3"]}, ("c2", "io3")),
        ({"kind": "none"}, ()),
    ],
)
def test_data_servers_are_placed_as_asked(
    file_system: dict[str, Any], servers: tuple[str, ...]
) -> None:
    body = changed(file_system={"kind": "glusterfs", **file_system})
    assert ClusterSpec.model_validate(body).server_names() == servers


def test_without_data_servers_the_compute_nodes_have_the_disks() -> None:
    spec = ClusterSpec.model_validate(changed(file_system={"kind": "none"}))
    assert spec.storage_names() == ("c1", "c2")


def test_all_findings_are_given_at_once_with_their_places(tmp_path: Path) -> None:
    body = changed(
        nodes__compute=0, instance__memroy="1 GiB", storage__size="many", file_system__kind="NFS!"
    )
    said = findings(tmp_path, body)
    assert "instance.memroy: no such key; is it misspelt?" in said
    assert "nodes.compute" in said
    assert "storage.size: 'many' is not a size" in said
    assert "file_system.kind" in said


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (changed(file_system__servers=4), "asks for 4 data servers, but 3 nodes can hold one"),
        (changed(nodes={"compute": 2}), "placement is 'io', but nodes.io is 0"),
        (changed(file_system__placement=["io9"]), "names io9, but the nodes are c1, c2, io1"),
        (changed(file_system__placement=["io1", "io1"]), "names a node twice"),
        (changed(storage__size="1 MiB"), "too small"),
        (changed(instance__memory="1 MiB"), "less than 64 MiB"),
        (changed(layout="one-server-per-file", file_system__stripe={"kind": "sharded", "size": "1 MiB"}), "needs whole files"),
        (changed(file_system__stripe={"size": "1 MiB"}), "only has a meaning with kind: sharded"),
        (changed(file_system__stripe={"redundancy": 1}), "only has a meaning with kind: disperse"),
        (changed(file_system={"kind": "none", "servers": 1}), "servers has no meaning with kind: none"),
        (changed(file_system={"kind": "existing", "stripe": {"kind": "sharded"}}), "stripe has no meaning with kind: existing"),
        (changed(file_system={"kind": "existing", "path": "/x", "mount": "/y"}), "mount has no meaning with kind: existing"),
        (changed(file_system={"kind": "efs", "stripe": {"kind": "replicated"}}), "stripe has no meaning with kind: efs"),
        (changed(file_system={"kind": "nfs", "servers": 2}), "nfs has 1 data server, not 2"),
        *(
            (changed(file_system={"kind": kind, "stripe": {"kind": stripe, "count": None}}), f"{kind} has distributed")
            for kind, stripe in (
                ("nfs", "sharded"), ("cephfs", "disperse"), ("moosefs", "disperse"), ("orangefs", "replicated"),
                ("lustre", "replicated"), ("lustre", "disperse"), ("fsx-lustre", "replicated"),
            )
        ),
        (changed(file_system={"kind": "nfs", "prefix": "/opt/x"}), "prefix only has a meaning with kind: orangefs, not nfs"),
        (changed(file_system={"kind": "gateway", "behind": "glusterfs", "metadata_servers": 1}), "glusterfs has no metadata servers"),
        (changed(file_system__stripe={"kind": "sharded", "size": 0}), "stripe.size is 0"),
        (changed(scale=0.5), "scale"),
        (changed(name="a/../../etc"), "name"),
        (changed(name="x; rm -rf /"), "name"),
        (changed(file_system__mount="/a b"), "mount"),
        (changed(file_system__options={"a b": 1}), "options"),
        (changed(instance__network="1 GiB"), "is not a rate"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_reason(
    tmp_path: Path, body: dict[str, Any], said: str
) -> None:
    assert said in findings(tmp_path, body)


def test_stripes_of_a_managed_lustre_are_taken_though_no_node_serves_it() -> None:
    stripe = {"kind": "sharded", "count": 4, "size": "1 MiB"}
    spec = ClusterSpec.model_validate(changed(file_system={"kind": "fsx-lustre", "stripe": stripe}))
    assert spec.file_system.stripe.count == 4


def test_the_hash_is_of_the_content_not_of_its_layout() -> None:
    one = ClusterSpec.model_validate(changed(storage__size="2 GiB"))
    same = ClusterSpec.model_validate(changed(storage__size=2 * 2**30))
    other = ClusterSpec.model_validate(changed(storage__size="3 GiB"))
    assert one.sha256() == same.sha256() != other.sha256()


def test_the_hash_stays_when_a_later_version_has_more_keys() -> None:
    class LaterFileSystem(FileSystem):
        warp: int = 9

    class LaterSpec(ClusterSpec):
        colour: str = "blue"
        file_system: LaterFileSystem

    said = changed(file_system__options={"b": 1, "a": 2})
    now, later = ClusterSpec.model_validate(said), LaterSpec.model_validate(said)
    assert now.sha256() == later.sha256()
    assert now.sha256() != LaterSpec.model_validate({**said, "colour": "red"}).sha256()


def test_the_hash_is_the_same_when_a_default_is_written_down() -> None:
    written = changed(provider="local", scale=1.0, storage__local_file_system="xfs")
    assert ClusterSpec.model_validate(written).sha256() == ClusterSpec.model_validate(GOOD).sha256()


def test_the_hash_does_not_hang_on_the_order_of_options() -> None:
    one, other = (
        ClusterSpec.model_validate(changed(file_system__options=options))
        for options in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    )
    assert one.sha256() == other.sha256()


def test_an_unknown_driver_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(
        SpecError,
        match=r"no provider is called 'cloud'; there are aws, local, null, openstack, ssh, vm",
    ):
        registry.provider("cloud")
    with pytest.raises(SpecError, match=r"no file system is called 'zfs'; there are .*nfs"):
        registry.file_system("zfs")


def test_the_repositorys_examples_are_good() -> None:
    root = Path(__file__).parents[3] / "examples"
    files = [*root.glob("abyss/clusters/*.yaml"), *root.glob("clusters/*.yaml")]
    assert files
    for file in files:
        spec = read_spec(file)
        registry.file_system(spec.file_system.kind)


@pytest.mark.parametrize(
    ("file_system", "names"),
    [
        ({}, ("io1",)),  # the default: with the first data server
        ({"metadata_servers": 2}, ("io1", "io2")),
        ({"metadata_placement": "head"}, ("h1",)),
        ({"metadata_placement": ["c2", "io3"]}, ("c2", "io3")),  # all that are named
        ({"metadata_placement": "compute", "metadata_servers": 2}, ("c1", "c2")),
    ],
)
def test_metadata_servers_are_where_they_were_put(
    file_system: dict[str, Any], names: tuple[str, ...]
) -> None:
    spec = ClusterSpec.model_validate(changed(file_system={"kind": "orangefs", **file_system}))
    assert spec.metadata_names() == names
    assert set(names) <= set(spec.storage_names())


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"file_system": {"kind": "nfs", "metadata_servers": 1}}, "nfs has no metadata servers"),
        (
            {"file_system": {"kind": "cephfs", "metadata_servers": 4}},
            "4 metadata servers are asked for, but 3 nodes",
        ),
        (
            {"file_system": {"kind": "cephfs", "metadata_placement": ["x1"]}},
            "metadata_placement names x1",
        ),
        (
            {"file_system": {"kind": "cephfs", "metadata_placement": ["c1", "c1"]}},
            "names a node twice",
        ),
        (
            {"file_system": {"kind": "none", "metadata_placement": "head"}},
            "file_system none has no metadata servers",
        ),
        (
            {"file_system__stripe": {"count": 2}},
            "stripe.count only has a meaning with kind: sharded",
        ),
        ({"file_system__stripe": {"kind": "sharded", "count": 4}}, "more than the 3 data servers"),
        ({"temporary": {"size": "1 MiB"}}, "temporary.size 1.0 MiB is too small"),
        ({"temporary": {}, "provider": "null"}, "only providers local and vm make disks"),
    ],
)
def test_components_that_do_not_fit_are_said(
    parts: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in findings(tmp_path, changed(**parts))


def test_a_disk_has_rates_of_its_own_or_its_instances() -> None:
    body = changed(
        instance={"name": "x", "disk_read": "100 MB/s", "disk_write_iops": 900, "device": "ssd"},
        storage={"read": "30 MB/s", "device": "hdd"},
        temporary={"write": "5 MB/s"},
    )
    spec = ClusterSpec.model_validate(body)
    assert spec.temporary is not None
    assert spec.disk_rates("io1", spec.storage) == {"read": 30_000_000, "write_iops": 900}
    assert spec.disk_rates("c1", spec.temporary) == {
        "read": 100_000_000, "write": 5_000_000, "write_iops": 900,
    }  # fmt: skip
    assert [spec.device_of("c1", disk) for disk in (spec.storage, spec.temporary)] == ["hdd", "ssd"]


def test_wrong_values_do_not_hide_what_does_not_fit_together(tmp_path: Path) -> None:
    body = changed(
        name="No_Name",
        instance={"name": "x", "memory": "1 KiB"},
        file_system={"kind": "orangefs", "servers": 9, "stripe": {"foo": 1, "count": 2}},
        scale=0.5,
        storage={"size": 3},
    )
    said = findings(tmp_path, body)
    for words in (
        "name: 'No_Name' is not possible: write lower case letters",
        "less than 64 MiB",
        "file_system.stripe.foo: no such key",
        "scale: 0.5 is too small: write at least 1",
        "9 data servers, but 3 nodes",
        "storage.size 3 B is too small",
        "stripe.count only has a meaning with kind: sharded",
    ):
        assert words in said
    assert said.count("scale") == 1


@pytest.mark.parametrize(
    ("mpi", "words"),
    [
        ({"hints": {"cb_nodes": 2}, "io_library": "ompio"}, "hints for every file are ROMIO's"),
        ({"hints": {"cb_nodes": "2\nx y"}}, "mpi.hints"),
        ({"hints": {"a b": 2}}, "mpi.hints"),
        ({"io_library": "mine"}, "mpi.io_library"),
    ],
)
def test_wrong_mpi_io_is_refused(mpi: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert words in findings(tmp_path, changed(mpi=mpi))


def test_the_environment_of_ranks_is_what_the_mpi_key_says() -> None:
    def environment(**said: Any) -> dict[str, str]:
        return mpi.environment(ClusterSpec.model_validate(changed(mpi=said)), "/storage")

    assert environment() == {}
    assert environment(io_library="ompio") == {"OMPI_MCA_io": "ompio"}
    assert environment(hints={"cb_nodes": 2}) == {
        "OMPI_MCA_io": "romio321", "ROMIO_HINTS": "/storage.mpi-hints",
    }  # fmt: skip


@pytest.mark.parametrize("mount", ["/usr", "/proc", "/dev/shm/x", "/storage", "/var/", "//etc"])
def test_a_mount_that_would_cover_what_nodes_need_is_refused(mount: str, tmp_path: Path) -> None:
    assert "would cover what nodes need" in findings(tmp_path, changed(file_system__mount=mount))


@pytest.mark.parametrize("mount", ["/wavetank", "/mnt/pfs", "/home/user/lab"])
def test_a_mount_of_its_own_is_fine(mount: str) -> None:
    assert ClusterSpec.model_validate(changed(file_system__mount=mount)).file_system.mount == mount
