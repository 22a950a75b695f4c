"""GlusterFS without a cluster: what a specification may ask, what gluster is asked and says."""

from __future__ import annotations

from typing import Any

import pytest

from wavetank.cluster.filesystems.glusterfs import options
from wavetank.cluster.filesystems.glusterfs.daemons import glusterd_volfile
from wavetank.cluster.filesystems.glusterfs.driver import GlusterFS
from wavetank.cluster.filesystems.glusterfs.placement import attributes
from wavetank.cluster.filesystems.glusterfs.volume import volume_facts
from wavetank.cluster.spec import ClusterSpec

MIB = 2**20


def spec(servers: int = 2, stripe: dict[str, Any] | None = None, **file_system: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "t",
            "instance": {"name": "t.small"},
            "nodes": {"compute": 1, "io": servers},
            "file_system": {"kind": "glusterfs", "stripe": stripe or {}, **file_system},
        }
    )


# --- stripes


@pytest.mark.parametrize(
    ("servers", "stripe", "words"),
    [
        (3, {"kind": "distributed"}, []),
        (2, {"kind": "replicated"}, ["replica", "2"]),
        (3, {"kind": "disperse"}, ["disperse", "3", "redundancy", "1"]),
        (5, {"kind": "disperse", "redundancy": 2}, ["disperse", "5", "redundancy", "2"]),
    ],
)
def test_a_stripe_becomes_the_type_of_the_volume(
    servers: int, stripe: dict[str, Any], words: list[str]
) -> None:
    asked = spec(servers, stripe)
    assert options.check_stripe(asked) == []
    assert options.volume_words(asked) == words


@pytest.mark.parametrize(
    ("servers", "stripe", "finding"),
    [
        (2, {"kind": "sharded", "size": "1 MiB"}, "4.0 MiB or more"),
        (1, {"kind": "replicated"}, "2 data servers or more"),
        (2, {"kind": "disperse"}, "needs 3 data servers"),
        (4, {"kind": "disperse", "redundancy": 2}, "needs 5 data servers"),
        (3, {"kind": "sharded", "count": 2}, "over all 3 data servers"),
    ],
)
def test_a_stripe_that_the_servers_cannot_hold_is_found_before_anything_starts(
    servers: int, stripe: dict[str, Any], finding: str
) -> None:
    (said,) = options.check_stripe(spec(servers, stripe))
    assert finding in said


def test_shards_are_options_of_the_volume_and_come_before_the_experts() -> None:
    asked = spec(2, {"kind": "sharded", "size": "8 MiB"}, options={"performance.io-cache": True, "network.ping-timeout": 5})  # fmt: skip
    assert list(options.volume_options(asked).items()) == [
        ("storage.health-check-interval", "0"),
        ("features.shard", "on"),
        ("cluster.min-free-disk", "0"),
        ("features.shard-block-size", str(8 * MIB)),
        ("performance.io-cache", "on"),
        ("network.ping-timeout", "5"),
    ]


# --- options of strangers


def _option_findings(asked: ClusterSpec) -> list[str]:
    return [said for said in GlusterFS().check(asked) if "options." in said]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("performance.io-cache", "on"),
        ("performance.cache-size", "64MB"),
        ("auth.allow", "10.77.0.*,10.78.0.1"),
        ("cluster.min-free-disk", "5%"),
        ("network.ping-timeout", 10),
        ("performance.open-behind", False),
    ],
)
def test_options_of_gluster_pass(name: str, value: str | int | bool) -> None:
    assert _option_findings(spec(options={name: value})) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("performance.io-cache", "--log-file=/etc/passwd"),  # the gluster command would take it as its own
        ("performance.io-cache", "on\nbrick-0=evil:/"),  # a line in gluster's files
        ("changelog.changelog-dir", "/etc"),
        ("performance.io-cache", ""),
        ("performance.io-cache", "$(reboot)"),
        ("--remote-host.x", "on"),
        ("group", "virt"),
        ("features.shard", "off"),
    ],
)  # fmt: skip
def test_an_option_that_could_do_harm_is_refused(name: str, value: str) -> None:
    try:
        asked = spec(options={name: value})
    except ValueError:  # the specification refuses such a name itself
        return
    (said,) = _option_findings(asked)
    assert name in said


def test_mount_options_become_words_of_mount() -> None:
    asked = spec(mount_options={"acl": True, "noatime": False, "use-readdirp": False, "direct-io-mode": True, "lru-limit": 0})  # fmt: skip
    assert _option_findings(asked) == []
    assert options.mount_words(asked) == [
        "acl",
        "use-readdirp=no",
        "direct-io-mode=on",
        "lru-limit=0",
    ]


@pytest.mark.parametrize(
    ("name", "value", "finding"),
    [
        ("log-file", "/dev/sda", "has no such option here"),
        ("dump-fuse", "x", "has no such option here"),
        ("acl", "yes", "write true or false"),
        ("lru-limit", "1,log-file=x", "is not possible: write letters"),
        ("lru-limit", "1 --log-file=x", "is not possible: write letters"),
    ],
)
def test_a_mount_option_that_could_do_harm_is_refused(name: str, value: str, finding: str) -> None:
    (said,) = _option_findings(spec(mount_options={name: value}))
    assert finding in said


def test_glusterd_listens_on_the_clusters_network_only() -> None:
    assert "option transport.socket.bind-address 10.77.0.3\n" in glusterd_volfile("10.77.0.3")


# --- what gluster says


def test_volume_facts_are_read() -> None:
    # gluster 10.3, volume info
    text = (
        " \nVolume Name: wavetank\nType: Distribute\nVolume ID: cf0df3d7-837f\nStatus: Started\nBricks:\n"
        "Brick1: 10.77.0.3:/storage/brick\nOptions Reconfigured:\nfeatures.shard: on\n"
    )
    facts = volume_facts(text)
    assert (facts["Type"], facts["Status"]) == ("Distribute", "Started")
    assert facts["Brick1"] == "10.77.0.3:/storage/brick"
    assert facts["features.shard"] == "on"


def test_attributes_are_read_per_file() -> None:
    # getfattr 2.5.1
    text = '# file: /m/a\nglusterfs.gfid.string="f7"\n\n# file: /m/b\nglusterfs.gfid.string="b6"\n'
    assert attributes(text, "glusterfs.gfid.string") == {"/m/a": "f7", "/m/b": "b6"}
