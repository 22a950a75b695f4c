"""What a cluster file may say of Lustre, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from lustre_clusters import DEVICES, OWN_MGS, ZFS, spec

from wavetank.cluster.filesystems.lustre.driver import Lustre
from wavetank.cluster.filesystems.lustre.targets import fsname
from wavetank.cluster.needs import Needs, has_module
from wavetank.cluster.spec import ClusterSpec


def test_one_name_of_8_characters_at_most_is_made_of_the_clusters_name() -> None:
    asked = ClusterSpec.model_validate({
        **spec().model_dump(exclude_defaults=True), "name": "a-cluster-with-a-long-name",
        "file_system": {"kind": "lustre"},
    })  # fmt: skip
    needs = Lustre().needs_of_servers(asked)
    assert "osd_ldiskfs" in needs.modules
    assert fsname(asked).isalnum()
    assert len(fsname(asked)) == 8


@pytest.mark.parametrize(
    ("options", "parts", "said"),
    [
        ({"backend": "xfs"}, {}, "'xfs' is not possible: write ldiskfs or zfs"),
        ({"no.option": 1}, {}, "no.option: lustre has no such option here"),
        ({"fsname": "too-long-a-name"}, {}, "8 characters at most"),
        ({"ost_devices": "/dev/sdb"}, {"file_system": {"metadata_servers": 1}, "mdt": "/dev/sdb"}, "would both be on /dev/sdb"),
        ({"ost_devices": "/dev/sdb", "osts_per_server": 2}, {}, "osts_per_server has no meaning with ost_devices"),
        ({"mgs_device": "/dev/sdb"}, {}, "only has a meaning with mgs: own"),
        ({"osts_per_server": 24}, {"storage": {"size": "4 GiB"}}, "and an OST needs 256.0 MiB"),
        ({"pools": "fast:0-7"}, {}, "fast names OST 2, 3, 4, 5, 6, 7; there are 0 to 1"),
        ({"pools": "fast:1-0"}, {}, "fast has no OST"),
        ({"pools": "a:0/a:1"}, {}, "names a pool twice"),
        ({"fileset": "/a"}, {}, "name the tenant, in option tenant"),
        ({"tenant": "a", "fileset": "/a/../b"}, {}, "write an absolute path"),
        ({"tenant": "default"}, {}, "is the name of another nodemap"),
        ({"tenant": "a"}, {"nodes": {"compute": 2}, "file_system": {"placement": "compute", "servers": 1}}, "keep servers off"),
        ({"pool": "fast"}, {}, "fast is none of the pools"),
        ({"directory_stripes": 2}, {}, "directory_stripes 2 is more than the 1 metadata servers"),
        ({**ZFS, "osd-ldiskfs.read_cache_enable": 1}, {}, "has no meaning with backend: zfs"),
        ({}, {"file_system": {"stripe": {"kind": "sharded", "size": "100 KiB"}}}, "multiples of 64 KiB"),
        ({}, {"file_system": {"mount_options": {"ro": True}}}, "mount_options.ro: lustre has no such option"),
        ({}, {"file_system": {"mount_options": {"flock": "yes"}}}, "write true or false"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(options: dict[str, Any], parts: dict[str, Any], said: str) -> None:  # fmt: skip
    device = parts.pop("mdt", None)
    asked = spec({**options, **({"mdt_device": device} if device else {})}, **parts)
    assert any(said in finding for finding in Lustre().check(asked)), Lustre().check(asked)


def test_an_ordinary_specification_is_not_refused() -> None:
    for options in ({}, OWN_MGS, DEVICES, ZFS, {"network": "tcp1", "pools": "a:0-1", "pool": "a"}):
        assert Lustre().check(spec(options)) == []


def test_nodes_of_one_kernel_are_refused_with_what_it_lacks() -> None:
    asked = ClusterSpec.model_validate({
        "name": "lab", "instance": {"name": "x"}, "nodes": {"compute": 1, "io": 1}, "storage": {"size": "8 GiB"},
        "file_system": {"kind": "lustre"},
    })  # fmt: skip
    (found,) = Lustre().check(asked)
    assert "nodes of provider local share this machine's kernel, and" in found
    assert "one kernel has one LNet" in found
    assert ("this kernel has no module lustre" in found) == (not has_module("lustre"))
    # nothing that is installed would help
    assert Lustre().needs_of_servers(asked) == Lustre().needs_of_clients(asked) == Needs()


def test_images_of_distributions_are_refused_in_a_cloud() -> None:
    asked = ClusterSpec.model_validate({
        "name": "lab", "provider": "aws", "instance": {"name": "c5.large"}, "nodes": {"compute": 1, "io": 1},
        "storage": {"size": "20 GiB"}, "file_system": {"kind": "lustre"},
        "cloud": {"region": "us-east-1", "ttl": "2 h", "budget": "5 USD"},
    })  # fmt: skip
    assert any("cloud.image debian-12 has no servers of Lustre" in said for said in Lustre().check(asked))  # fmt: skip
    own = asked.model_copy(
        update={"cloud": asked.cloud.model_copy(update={"image": "ami-0123456789abcdef0"})}
    )  # type: ignore[union-attr]
    assert Lustre().check(own) == []
