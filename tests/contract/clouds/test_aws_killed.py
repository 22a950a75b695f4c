"""wavetank killed (SIGKILL) after every single call that up and down make to AWS: then ``down`` or ``prune`` leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import Emulator
from killed_tries import tries

PROGRAM = Path(__file__).parent / "aws_killed.py"


@pytest.mark.parametrize("how", ["up", "down", "prune"])
def test_after_a_kill_at_any_call_nothing_is_left(
    how: str, emulator: Emulator, tmp_path: Path
) -> None:
    """ "up": killed while it comes up, then down; "prune": the same, without the folder; "down": killed while it goes."""
    found = tries(PROGRAM, how, emulator.url, tmp_path, "glusterfs")
    whole = found[-1]
    assert found[0]["killed_after"] == 1
    # each kind of call that makes, or removes, something: there was something to remove
    calls = {each.partition(":")[2] for each in whole["calls"]}
    if how == "down":
        assert calls >= {
            "TerminateInstances", "DeleteSecurityGroup", "DeletePlacementGroup", "DeleteKeyPair", "DeleteSchedule",
        }  # fmt: skip
    else:
        assert calls >= {
            "ImportKeyPair", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "CreatePlacementGroup", "RunInstances",
            "CreateTags", "CreateSchedule",
        }  # fmt: skip
        # three instances, their volumes, keys and groups
        assert max(each["left_then"] for each in found) >= 7


@pytest.mark.parametrize(
    ("how", "kind"),
    # what prune has to find again is more than what down has: EFS has it alone
    [("up", "fsx-lustre"), ("down", "fsx-lustre"), ("prune", "efs"), ("down", "efs")],
)
def test_after_a_kill_no_file_system_of_the_cloud_is_left(
    how: str, kind: str, emulator: Emulator, tmp_path: Path
) -> None:
    found = tries(PROGRAM, how, emulator.url, tmp_path, kind)
    calls = [each.partition(":")[2] for each in found[-1]["calls"]]
    of_efs = kind == "efs"
    if how == "down":
        assert calls.count("DeleteFileSystem") >= 1
        assert ("DeleteMountTarget" in calls) is of_efs
        # of the file system, of the mount target, of the instances
        assert calls.count("DeleteSchedule") == (3 if of_efs else 2)
    else:
        assert calls.count("CreateFileSystem") == 1
        assert calls.count("CreateMountTarget") == (1 if of_efs else 0)
        assert calls.count("CreateSchedule") == (3 if of_efs else 2)
