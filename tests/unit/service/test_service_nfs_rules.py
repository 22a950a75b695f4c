"""What a space of NFS cannot be, said before anything is made."""

from __future__ import annotations

import pytest
from service_fakes import GIB, NOON, request, server, tenant

from wavetank.service.core import changes
from wavetank.service.core.records import Held, Resize, Share, Usage
from wavetank.service.core.refusals import Refused

MIB = 2**20


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"size": 320 * MIB - 1}, "NFS makes no space below 320 MiB"),
        ({"devices_per_server": 2}, "NFS keeps a space on 1 device of a server, not on 2"),
    ],
)
def test_a_space_that_its_maker_could_not_make_is_refused(asked, said):
    with pytest.raises(Refused, match=said):
        changes.see_possible(request(kind="nfs", **asked))
    changes.see_possible(request(kind="glusterfs", **asked))


def made_and_wanted(made, wanted):
    """A space of NFS whose growth failed, and its place."""
    servers = [Held(server=server("io0", 9 * GIB), free={"/dev/d0": 9 * GIB})]
    space, _ = changes.create(
        "sp", tenant(), request(kind="nfs", size=wanted), Usage(), servers, NOON
    )
    space = space.model_copy(
        update={"state": "failed", "failed_in": "growing", "made_generation": 1, "generation": 2}
    )
    return space, (Share(node="io0", device="/dev/d0", made=made, wanted=wanted, held=wanted),)


def test_a_space_does_not_shrink_and_growth_that_failed_is_taken_back():
    space, shares = made_and_wanted(2 * GIB, 4 * GIB)
    servers = [Held(server=server("io0", 9 * GIB), free={"/dev/d0": 5 * GIB})]

    def to(size):
        used = Usage(bytes=4 * GIB, spaces=1)
        return changes.resize(space, shares, Resize(size=size), tenant(), used, servers, NOON)

    with pytest.raises(Refused, match="NFS does not shrink a space, and it has 2 GiB"):
        to(GIB)
    assert to(2 * GIB)[0].size == 2 * GIB
