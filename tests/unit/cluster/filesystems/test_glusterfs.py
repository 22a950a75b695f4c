"""GlusterFS without a cluster: what a specification may ask, what gluster is asked, where names hash to."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster.filesystems.glusterfs import options
from wavetank.cluster.filesystems.glusterfs.daemons import START, glusterd_volfile, log_name
from wavetank.cluster.filesystems.glusterfs.name_hash import hash_range, name_hash, shard_bytes
from wavetank.cluster.filesystems.glusterfs.placement import attributes
from wavetank.cluster.filesystems.glusterfs.volume import option_values, volume_facts
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


def test_an_expert_may_have_the_options_that_a_full_brick_made_us_change() -> None:
    theirs = {"cluster.min-free-disk": "5%", "storage.health-check-interval": 30}
    said = options.volume_options(spec(2, {"kind": "sharded"}, options=theirs))
    assert (said["cluster.min-free-disk"], said["storage.health-check-interval"]) == ("5%", "30")


# --- options of strangers


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
    assert options.check_options(spec(options={name: value})) == []


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
    (said,) = options.check_options(asked)
    assert name in said


def test_mount_options_become_words_of_mount() -> None:
    asked = spec(mount_options={"acl": True, "noatime": False, "use-readdirp": False, "direct-io-mode": True, "lru-limit": 0})  # fmt: skip
    assert options.check_options(asked) == []
    assert options.mount_words(asked) == [
        "acl",
        "use-readdirp=no",
        "direct-io-mode=on",
        "lru-limit=0",
    ]


@pytest.mark.parametrize(
    ("name", "value", "finding"),
    [
        ("log-file", "/dev/sda", "none that can be set"),
        ("dump-fuse", "x", "none that can be set"),
        ("acl", "yes", "takes no value"),
        ("lru-limit", "1,log-file=x", "no value of a mount option"),
        ("lru-limit", "1 --log-file=x", "no value of a mount option"),
    ],
)
def test_a_mount_option_that_could_do_harm_is_refused(name: str, value: str, finding: str) -> None:
    (said,) = options.check_options(spec(mount_options={name: value}))
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


def test_of_an_option_that_gluster_lists_twice_the_first_is_kept() -> None:
    # gluster 10.3, volume get all: cache-size of io-cache, then of quick-read
    text = (
        "Option                                   Value                                   \n"
        "------                                   -----                                   \n"
        "performance.cache-size                   32MB (DEFAULT)                          \n"
        "performance.cache-size                   128MB (DEFAULT)                         \n"
    )
    assert option_values(text) == {"performance.cache-size": "32MB (DEFAULT)"}


def test_attributes_are_read_per_file() -> None:
    # getfattr 2.5.1
    text = '# file: /m/a\nglusterfs.gfid.string="f7"\n\n# file: /m/b\nglusterfs.gfid.string="b6"\n'
    assert attributes(text, "glusterfs.gfid.string") == {"/m/a": "f7", "/m/b": "b6"}


def test_logs_are_named_as_gluster_names_them() -> None:
    assert log_name("/storage/brick") == "storage-brick.log"


# --- hashes


THIRDS = {"0": (0xAAAAAAAA, 0xFFFFFFFF), "1": (0, 0x55555554), "2": (0x55555555, 0xAAAAAAA9)}


@pytest.mark.parametrize(
    ("name", "brick"),
    # gluster 10.3 with these three ranges, getfattr -n dht.file.hashed-subvol.NAME: lengths around words and blocks
    [
        ("k", "2"), ("sm", "1"), ("07B", "2"), ("Ev1F", "0"), ("TflS6", "1"), ("8qFU95IE", "2"), ("MDKf5FPnwxd", "2"),
        ("tKeU15N3kDfn5Cz", "1"), ("g3M9EOJ9TBShrvcy", "2"), ("jtWBLvCbZfPeJNISK", "0"), ("dahT7oxcC9ItyDpoaLXJvcR", "2"),
        ("curpe8oNHzlS0jo3nO6WCruGs6O3oeK", "0"), ("HY6qtf9e9CWBGKzmAT6PZ2tLxXVeO8nx", "0"),
        ("rlHZ990I7XTwRCHbu2tHcTeYff5sk39Hc", "2"), ("3h4gJGhnRfLMHAsUkbMfEw5wxOSKin82knKybB1Y8LfW3izo", "1"),
    ],
)  # fmt: skip
def test_a_name_lies_where_gluster_says(name: str, brick: str) -> None:
    first, last = THIRDS[brick]
    assert first <= name_hash(name) <= last


@pytest.mark.parametrize(
    ("gfid", "numbers"),
    # The shards that three bricks of gluster 10.3 held, of files of 27 MiB in shards of 4 MiB
    [
        ("f724e34f-49a6-4aae-8730-3df763a913e2", {"0": (3, 6), "1": (1, 5), "2": (2, 4)}),
        ("b664df37-e294-444b-96b4-eb458d5706c1", {"0": (2, 6), "1": (1, 4), "2": (3, 5)}),
        ("999980ce-8f87-4edc-9ca8-d0cb3fb53241", {"0": (), "1": (4, 6), "2": (1, 2, 3, 5)}),
    ],
)
def test_shards_lie_where_gluster_put_them(gfid: str, numbers: dict[str, tuple[int, ...]]) -> None:
    expected = {
        brick: sum(3 * MIB if n == 6 else 4 * MIB for n in held) for brick, held in numbers.items()
    }
    expected["0"] += 4 * MIB  # the first shard, which is the file itself
    assert shard_bytes(gfid, 27 * MIB, 4 * MIB, "0", THIRDS) == expected


def test_shards_of_a_file_of_whole_shards_have_all_its_bytes() -> None:
    held = shard_bytes("f724e34f-49a6-4aae-8730-3df763a913e2", 8 * MIB, 4 * MIB, "1", THIRDS)
    assert sum(held.values()) == 8 * MIB
    assert shard_bytes("x", 100, 4 * MIB, "1", THIRDS) == {"0": 0, "1": 100, "2": 0}


def test_hashes_spread_evenly() -> None:
    counts = Counter(name_hash(f"file-{i}") >> 30 for i in range(4000))
    # Binomial, n = 4000, p = 1/4: sigma = sqrt(4000 * 3/16) = 27; five sigma on each side of 1000.
    assert all(abs(counts[quarter] - 1000) < 5 * 27.4 for quarter in range(4))


def test_a_hash_range_is_the_last_two_words_of_the_attribute() -> None:
    assert hash_range("0x000000010000000055555555aaaaaaa9\n") == (0x55555555, 0xAAAAAAA9)
    with pytest.raises(ValueError, match="no hash range"):
        hash_range("0x00")


def test_the_stand_in_for_geo_replication_is_a_program_that_is_not_there(tmp_path: Path) -> None:
    # ENOENT is the one error that glusterd takes for "not installed"; EACCES keeps it from starting
    shebang = re.search(r"printf '(#!.*)\\n'", START)
    assert shebang is not None
    stand_in = tmp_path / "gsyncd"
    stand_in.write_text(f"{shebang[1]}\n")
    stand_in.chmod(0o755)
    with pytest.raises(FileNotFoundError):
        subprocess.run([stand_in], check=False)
    with pytest.raises(OSError):
        Path(shebang[1].removeprefix("#!")).mkdir(parents=True)  # not even root makes it be there
