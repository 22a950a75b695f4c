"""Disks whose image was deleted: who else may detach them, or take their number, meanwhile."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from wavetank.cluster.namespaces import orphans
from wavetank.cluster.namespaces.cgroups import Hierarchies
from wavetank.errors import ProviderError

OURS = "/state/clusters/lost/images/io1.img (deleted)"
ORPHAN = orphans.Orphan("lost", "loop device", "/dev/loop7")
GONE = "losetup: /dev/loop7: detach failed: No such device or address"


class Losetup:
    """A losetup whose list is the next of ``lists``, and of which each detaching fails with ``error``."""

    def __init__(self, lists: Sequence[str | None], error: str | None) -> None:
        self.lists, self.error, self.detached = list(lists), error, 0

    def __call__(self, argv: list[str]) -> str:
        if argv[1] == "-d":
            self.detached += 1
            if self.error:
                raise ProviderError(self.error)
            return ""
        image = self.lists.pop(0)
        devices = [] if image is None else [{"name": "/dev/loop7", "back-file": image}]
        return json.dumps({"loopdevices": devices})


@pytest.fixture
def end(monkeypatch: pytest.MonkeyPatch):
    def ended(lists: Sequence[str | None], error: str | None = None) -> int:
        losetup = Losetup(lists, error)
        monkeypatch.setattr(orphans, "command", losetup)
        monkeypatch.setattr(orphans, "find_program", lambda _: "/sbin/losetup")
        monkeypatch.setattr(orphans.os, "geteuid", lambda: 0)
        monkeypatch.setattr(orphans, "device_number", lambda _: "7:7")
        monkeypatch.setattr(orphans, "limit_disk", lambda *_: None)
        orphans.end_orphan(ORPHAN, Hierarchies({}, None, frozenset()))
        return losetup.detached

    return ended


def test_a_disk_that_is_left_is_detached(end):
    assert end([OURS]) == 1


def test_a_disk_that_whoever_deleted_its_image_detached_first_is_no_failure(end):
    assert end([OURS, None], GONE) == 1


def test_a_disk_whose_number_another_cluster_has_by_now_is_left_alone(end):
    assert end(["/state/clusters/other/images/io1.img"]) == 0
    assert end([None]) == 0


def test_a_disk_that_stays_is_a_failure(end):
    with pytest.raises(ProviderError, match="Device or resource busy"):
        end([OURS, OURS], "losetup: /dev/loop7: detach failed: Device or resource busy")
