"""A tenant fills its space, of whatever kind, and meets its own end; its neighbour on the same devices does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from spaces_service import Service, serving

from waiting import HANG_S
from wavetank.cluster.host import Host
from wavetank.errors import RemoteCommandError

pytestmark = [pytest.mark.cluster]

MODES = ("shared", "dedicated")
NO_SPACE = "No space left on device"


@pytest.fixture(scope="module", params=["nfs", "glusterfs"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with serving(tmp_path_factory, f"limits-{request.param}", request.param) as found:
        yield found


def said(node: Host, *argv: str) -> str:
    """What a command says that fails."""
    with pytest.raises(RemoteCommandError) as caught:
        node.run(argv, timeout_s=HANG_S)
    return caught.value.stderr_tail


@pytest.mark.parametrize("mode", MODES)
def test_a_tenant_writes_no_more_than_its_space_and_others_keep_their_room(
    service: Service, mode: str
) -> None:
    full = service.create("bob", "full", mode=mode)
    service.mount(service.bob, full, "/full")
    writes = ["dd", "if=/dev/zero", "of=/full/file", "bs=1M", "count=400", "conv=fsync"]
    assert NO_SPACE in said(service.bob, *writes)
    kept = int(service.bob.run(["stat", "-c", "%s", "/full/file"]).stdout)
    assert 0 < kept < service.small
    if mode == "shared":
        other = service.create("ann", "other")
        service.mount(service.ann, other, "/other")
        writes = ["dd", "if=/dev/zero", "of=/other/file", "bs=1M", "count=100", "conv=fsync"]
        service.ann.run(writes, timeout_s=HANG_S)
        service.ann.run(["umount", "/other"])
        service.delete(other)
    service.bob.run(["umount", "/full"])
    service.delete(full)


def test_a_tenant_that_makes_files_without_end_meets_its_own_limit(service: Service) -> None:
    """Most of the space is written first, so that inodes have little room: else there would be some 160,000 of them."""
    many, other = service.create("bob", "many"), service.create("ann", "other")
    service.mount(service.bob, many, "/many")
    service.mount(service.ann, other, "/other")
    fills = ["dd", "if=/dev/zero", "of=/many/file", "bs=1M", "count=400", "conv=fsync"]
    assert NO_SPACE in said(service.bob, *fills)
    # GlusterFS refuses new files while less than 1 % is free (storage.reserve), and looks only every 5 s.
    looks_s = 6 if service.kind == "glusterfs" else 0
    frees = "truncate -s -1M /many/file"
    frees = f"until {frees} && sleep {looks_s} && touch /many/first; do :; done; {frees}"
    service.bob.run(["sh", "-c", frees], timeout_s=HANG_S)
    makes = 'i=0; while : > "/many/$i"; do i=$((i + 1)); done'
    assert NO_SPACE in said(service.bob, "sh", "-c", makes)
    made = len(service.bob.run(["ls", "/many"], timeout_s=HANG_S).stdout.split()) - 1
    assert made > 64  # XFS makes inodes by 64: there was room for more of them, and it ended
    # The neighbour, whose file system is on the same device, makes as many and more.
    makes = 'i=0; while [ $i -lt "$1" ]; do : > "/other/$i" || exit 1; i=$((i + 1)); done'
    service.ann.run(["sh", "-c", makes, "sh", str(2 * made)], timeout_s=HANG_S)
    for node, at, space in ((service.bob, "/many", many), (service.ann, "/other", other)):
        node.run(["umount", at])
        service.delete(space)
