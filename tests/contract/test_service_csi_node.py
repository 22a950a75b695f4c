"""A node of the driver for Kubernetes: calls at the same moment, and a process that is killed between a mount and its answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from service_csi import NODE, FolderMounter, capability

from waiting import HANG_S
from wavetank.service.csi import node as node_module
from wavetank.service.csi.messages import made
from wavetank.service.csi.mounts import mounts_at
from wavetank.service.csi.node import Node
from wavetank.service.csi.statuses import CallError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root"),
]
VOLUME = "sp-1f"


class Patient:
    """A call with a limit that only ends what hangs."""

    def time_remaining(self) -> float:
        return HANG_S

    def is_active(self) -> bool:
        return True


class Machine:
    """A node whose one space is a folder."""

    def __init__(self, folder: Path) -> None:
        (folder / "made" / VOLUME).mkdir(parents=True)
        (folder / "made" / VOLUME / "file").write_text("kept")
        self.mounter = FolderMounter(folder / "made")
        self.node = Node(NODE, folder / "run", {"nfs": self.mounter})
        self.staged, self.shown = str(folder / "staged"), str(folder / "shown")

    def stage(self) -> None:
        context = {"kind": "nfs", "export": f"server:/{VOLUME}"}
        self.node.node_stage_volume(
            made("NodeStageVolumeRequest", publish_context=context, staging_target_path=self.staged, **self._its()),
            Patient(),
        )  # fmt: skip

    def publish(self, readonly: bool = False) -> None:
        self.node.node_publish_volume(
            made("NodePublishVolumeRequest", staging_target_path=self.staged, target_path=self.shown, readonly=readonly,
                 **self._its()),
            Patient(),
        )  # fmt: skip

    def remove(self) -> None:
        asked = made("NodeUnpublishVolumeRequest", volume_id=VOLUME, target_path=self.shown)
        self.node.node_unpublish_volume(asked, Patient())
        gone = made("NodeUnstageVolumeRequest", volume_id=VOLUME, staging_target_path=self.staged)
        self.node.node_unstage_volume(gone, Patient())

    def n_mounts(self) -> list[int]:
        return [len(mounts_at(self.staged)), len(mounts_at(self.shown))]

    @staticmethod
    def _its() -> dict[str, object]:
        return {"volume_id": VOLUME, "volume_capability": capability()}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(tmp_path)
    yield found
    found.remove()
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    assert not (tmp_path / "shown").exists()
    assert list((tmp_path / "run").iterdir()) == []
    assert (tmp_path / "made" / VOLUME / "file").read_text() == "kept"


def killed_in(call: Callable[[], None]) -> None:
    """Make a call in a process that ends itself by SIGKILL within it."""
    pid = os.fork()
    if not pid:
        try:
            call()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def then_killed(function: Callable[..., None]) -> Callable[..., None]:
    def killed(*args: object) -> None:
        function(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    return killed


def test_calls_at_the_same_moment_mount_once(machine: Machine) -> None:
    with ThreadPoolExecutor(8) as pool:
        for call in (machine.stage, machine.publish):
            for done in [pool.submit(call) for _ in range(8)]:
                done.result()
    assert machine.n_mounts() == [1, 1]


def test_the_next_call_finishes_what_a_killed_one_mounted(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(machine.mounter, "mount", then_killed(machine.mounter.mount))
        killed_in(machine.stage)
    machine.stage()
    with monkeypatch.context() as patch:
        patch.setattr(node_module, "bind", then_killed(node_module.bind))
        killed_in(machine.publish)
    machine.publish(readonly=True)  # what was to be read only, and was killed before it was
    machine.publish(readonly=True)
    assert machine.n_mounts() == [1, 1]
    assert mounts_at(machine.shown)[-1].read_only
    with pytest.raises(CallError, match="is read-only"):
        machine.publish()


def test_mounts_on_each_other_are_taken_for_none(machine: Machine) -> None:
    Path(machine.staged).mkdir()
    for _ in range(2):  # of two processes that were both killed
        machine.mounter.mount(machine.node._host(VOLUME), f"server:/{VOLUME}", machine.staged, {})
    machine.stage()
    assert machine.n_mounts() == [1, 0]


def test_a_place_that_has_something_else_is_left_alone(machine: Machine) -> None:
    with pytest.raises(CallError, match="stage it"):
        machine.publish()
    host = machine.node._host(VOLUME)
    Path(machine.staged).mkdir()
    host.run(["mount", "-t", "tmpfs", "other", machine.staged])
    with pytest.raises(CallError, match="has other, not"):
        machine.stage()
    assert mounts_at(machine.staged)[-1].source == "other"
