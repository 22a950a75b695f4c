"""What a space of GlusterFS can be, how it is named for its clients, and whom its bricks let in."""

from __future__ import annotations

import fnmatch
import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from service_fakes import GIB, NOON, ip, request, server, tenant

from wavetank.service.core import changes
from wavetank.service.core.placement import settled
from wavetank.service.core.records import Held, Resize, Usage
from wavetank.service.core.refusals import Refused
from wavetank.service.core.volume import Identity, Volume
from wavetank.service.csi.requests import request_of
from wavetank.service.csi.statuses import CallError, Code
from wavetank.service.makers.glusterfs.bricks import patterns

MIB = 2**20


@pytest.fixture(autouse=True, scope="module")
def kind_that_can_do_all() -> None:
    """Here GlusterFS is what its maker makes of it."""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"size": 640 * MIB - 1, "servers": 2}, "GlusterFS makes no space below 640 MiB on 2 servers"),
        ({"size": 640 * MIB - 1, "devices_per_server": 2}, "below 640 MiB on 1 server with 2 devices each"),
        ({"size": 3 * 640 * MIB - 1, "servers": 3, "devices_per_server": 2}, "below 1,920 MiB on 3 servers with 2 devices each"),
        ({"servers": 2, "redundancy": 1}, "GlusterFS keeps no copies"),
        ({"stripe_size": MIB}, "GlusterFS makes no stripes below 4 MiB"),
        ({"access": [ip("10.0.0.7", "ro")]}, "GlusterFS keeps rules for rw, not for ro"),
        ({"access": [{"kind": "key", "subject": "n"}]}, "keeps rules by ip or certificate, not by key"),
        ({"access": [ip("2001:db8::7")]}, "GlusterFS keeps rules by addresses of IPv4"),
        ({"access": [ip("10.0.0.0/7")]}, "GlusterFS keeps no networks larger than /8"),
    ],
)  # fmt: skip
def test_a_space_that_its_maker_could_not_make_is_refused(asked, said):
    with pytest.raises(Refused, match=said):
        changes.see_possible(request(**asked))


def test_a_space_gets_bytes_and_servers_and_loses_none():
    held = [Held(server=server(f"io{i}", 9 * GIB), free={"/dev/d0": 9 * GIB}) for i in range(4)]
    space, shares = changes.create("sp", tenant(), request(servers=2), Usage(), held, NOON)
    space, shares = (
        space.model_copy(update={"state": "ready", "made_generation": 1}),
        settled(shares),
    )
    used = Usage(bytes=GIB, spaces=1)

    def to(**asked):
        return changes.resize(space, shares, Resize(**asked), tenant(), used, held, NOON)

    with pytest.raises(Refused, match="GlusterFS does not shrink a space, and it has 1 GiB"):
        to(size=GIB - MIB)
    with pytest.raises(Refused, match="keeps a space on all of its servers, 2: make one on 1"):
        to(servers=1)
    # The parts that there are would be larger than the new one.
    with pytest.raises(
        Refused, match="and each has 512 MiB: on 3 servers it has 1,536 MiB or more"
    ):
        to(servers=3)
    assert [share.wanted for share in to(size=2 * GIB)[1]] == [GIB, GIB]
    grown, wider = to(servers=4, size=2 * GIB)
    assert grown.state == "growing"
    assert [(share.node, share.made, share.wanted) for share in wider] == [
        ("io0", GIB // 2, GIB // 2), ("io1", GIB // 2, GIB // 2), ("io2", 0, GIB // 2), ("io3", 0, GIB // 2),
    ]  # fmt: skip
    # What failed to grow may have data on what it got.
    space, shares = grown.model_copy(update={"state": "failed", "failed_in": "growing"}), wider
    with pytest.raises(Refused, match="keeps a space on all of its servers, 4"):
        to(servers=3, size=2 * GIB)


def test_a_volume_is_the_same_after_its_line():
    for stripe in (None, 4 * MIB):
        volume = Volume("sp-1f", (("10.0.0.3", 24100), ("10.0.0.4", 24107)), stripe)
        assert Volume.of(volume.export()) == volume
        text = volume.client_file()
        for part in ("remote-host 10.0.0.4", "remote-port 24107", "remote-subvolume sp-1f"):
            assert part in text
        assert ("features/shard" in text) == (stripe is not None)
        assert text.startswith(f"# {volume.export()} over\n")
        assert "\nvolume over-2\n  type cluster/distribute\n" in text
        assert "\nvolume to-2\n  type cluster/distribute\n" in volume.client_file(spread=False)
        # The first brick has all directories before they are spread.
        assert "option readdir-optimize on" in volume.client_file(spread=False)
        assert "readdir-optimize" not in text + volume.mover_file(Identity("", "", ""))
        assert "features/shard" not in volume.mover_file(Identity("", "", ""))
    # A brick has the same name whatever others there are: files name it on disk.
    wider = Volume("sp-1f", (("10.0.0.1", 24100), *volume.bricks))
    assert {"volume brick-10.0.0.3-24100", "volume brick-10.0.0.4-24107"} <= {
        *wider.client_file().splitlines()
    }
    assert wider.source() == "10.0.0.1:/sp-1f"
    assert wider.mount_options()["backup-volfile-servers"] == "10.0.0.3:10.0.0.4"


@pytest.mark.parametrize("line", ["10.0.0.3:/sp-1f", "glusterfs:/sp-1f", "glusterfs:10.0.0.3/sp-1f"])  # fmt: skip
def test_a_line_that_is_no_volume_is_told(line):
    with pytest.raises(ValueError, match="is no volume of GlusterFS"):
        Volume.of(line)


@given(st.integers(0, 2**32 - 1), st.integers(8, 32), st.integers(0, 2**32 - 1))
@example(0x0A000080, 25, 0x0A00007F)
def test_patterns_fit_the_addresses_of_a_network_and_no_others(address, prefix, other):
    network = ipaddress.IPv4Network((address, prefix), strict=False)
    found = patterns(str(network))
    assert len(found) <= 128

    def fits(each):
        return any(fnmatch.fnmatchcase(str(each), pattern) for pattern in found)

    other = ipaddress.IPv4Address(other)
    beside = [network[0] - 1 if int(network[0]) else other, other]
    for each in (network[0], network[-1], *beside):
        assert fits(each) == (each in network)


def test_a_claim_that_names_no_size_has_the_smallest_on_each_device():
    asked = {"kind": "glusterfs", "servers": "2", "devices": "2"}
    assert request_of("v", (0, 0), asked).size == 4 * 320 * MIB
    assert request_of("v", (0, 0), {**asked, "devices": "1"}).size == GIB  # the default is more
    with pytest.raises(CallError, match=f"has {4 * 320 * MIB} to") as refused:
        request_of("v", (0, GIB), asked)
    assert refused.value.code is Code.OUT_OF_RANGE
    with pytest.raises(CallError, match="devices_per_server") as refused:
        request_of("v", (0, 0), {**asked, "devices": "many"})
    assert refused.value.code is Code.INVALID_ARGUMENT
