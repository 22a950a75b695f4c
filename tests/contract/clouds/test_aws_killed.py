"""wavetank killed (SIGKILL) after every single call that up and down make to AWS: then ``down`` or ``prune`` leaves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import Emulator

PROGRAM = Path(__file__).parent / "aws_killed.py"


def tries(how: str, kind: str, url: str, folder: Path) -> list[dict[str, Any]]:
    """What came of each kill; the last try is not killed."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), how, url, str(folder / "state"), kind],
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    *after, unkilled = [each["killed_after"] for each in found]
    assert unkilled is None
    assert len(after) >= 10
    assert after == [*range(after[0], after[0] + len(after))]  # no call is left out
    for each in found:
        assert each["left"] == [], f"killed after call {each['killed_after']}, {each['call']}"
        assert not each["folder"]
    return found


@pytest.mark.parametrize("how", ["up", "down", "prune"])
def test_after_a_kill_at_any_call_nothing_is_left(
    how: str, emulator: Emulator, tmp_path: Path
) -> None:
    """ "up": killed while it comes up, then down; "prune": the same, without the folder; "down": killed while it goes."""
    found = tries(how, "glusterfs", emulator.url, tmp_path)
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
    found = tries(how, kind, emulator.url, tmp_path)
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
