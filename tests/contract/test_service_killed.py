"""The service ends inside of what its maker does on a real server; the next one makes it good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from service_fakes import ip
from spaces_service import MIB, EndsInside, KilledError, Service, serving

from wavetank.service.core.classes import KINDS
from wavetank.service.core.records import Space
from wavetank.service.makers import images
from wavetank.service.makers.daemons import CONFINE
from wavetank.service.makers.glusterfs import bricks
from wavetank.service.makers.glusterfs.maker import GlusterMaker
from wavetank.service.makers.nfs.maker import NfsMaker
from wavetank.service.reconcile.driver import Reconciler

pytestmark = [pytest.mark.cluster]


@pytest.fixture(scope="module", params=["nfs", "glusterfs"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with serving(tmp_path_factory, f"killed-{request.param}", request.param) as found:
        yield found


MAKERS = {"nfs": NfsMaker, "glusterfs": GlusterMaker}
MOST_OF_IMAGES = 8  # no script of images starts more of the programs that are counted
MOST = {"nfs": MOST_OF_IMAGES, "glusterfs": 12}  # and none of a kind more than these


def test_scripts_that_end_before_any_of_their_programs_are_made_good(service: Service) -> None:
    server = EndsInside(service.server)
    driver = service.driver
    made = MAKERS[service.kind](service.store, {service.node: server})
    levels = KINDS[service.kind].levels
    bob = ip(service.bob.address, levels[-1])
    service.driver = Reconciler(service.store, made, service.now)
    ended = 0

    def cut(script: str, programs: int, do: Any) -> Any:
        nonlocal ended
        server.script, server.left = script, programs
        try:
            found = do()
        except KilledError:
            ended += 1
            server.script = ""
            service.driver.recover()
            found = None
        server.script = ""
        return found

    def named() -> Space:
        found = service.store.space_named("ann", "cut")
        assert found is not None
        assert found.state == "ready", found.reason
        return found

    for programs in range(MOST[service.kind]):
        before = ended
        if service.kind == "glusterfs":
            cut(CONFINE + bricks.START, programs, lambda: service.create("ann", "brick"))
            brick = service.store.space_named("ann", "brick")
            assert brick is not None
            service.delete(brick)
        if programs >= MOST_OF_IMAGES:
            continue
        cut(images.MAKE, programs, lambda: service.create("ann", "cut"))
        cut(images.GROW, programs, lambda: service.grow(named(), 340 * MIB))
        cut(
            images.SET_RULES,
            programs,
            lambda: service.grant(named(), bob),
        )
        space = named()
        found = made.find(space.id)
        assert found is not None
        assert (found.whole, found.access) == (True, {bob})
        assert found.shares == {(service.node, service.device): 340 * MIB}
        blocks = service.server.run(["stat", "-f", "-c", "%b", service.mounted_at(space)])
        assert int(blocks.stdout) * 4096 > 250 * MIB
        goes, before_it = (images.REMOVE, 0) if programs < 3 else (images.WIPE, 3)
        cut(goes, programs - before_it, lambda: service.delete(named()))
        assert service.store.space(space.id).state == "gone"
        assert service.folders() == []
    assert ended > 12
    assert ended == before  # the last round came through
    service.driver = driver
