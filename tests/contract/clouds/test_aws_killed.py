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


PARTS = 4  # tests, each of every fourth call: they run side by side
PARTS_OF_SERVED = 3


def tries(
    how: str, part: int, parts: int, kind: str, url: str, folder: Path
) -> list[dict[str, Any]]:
    """What came of each kill; the last try is not killed."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), how, url, str(folder / "state"), str(part), str(parts), kind],
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    *killed, _ = found
    # each try is killed some calls later, until one is not killed: no step is left out
    assert len(killed) >= 2
    first = killed[0]["after"]
    assert [each["after"] for each in killed] == [first + parts * i for i in range(len(killed))]
    assert [each["killed"] for each in found] == [True] * len(killed) + [False]
    for each in found:
        assert each["left"] == [], f"killed after call {each['after']}, {each['call']}"
        assert not each["folder"]
    return found


@pytest.mark.parametrize("part", range(1, PARTS + 1))
@pytest.mark.parametrize("how", ["up", "down", "prune"])
def test_after_a_kill_at_any_call_nothing_is_left(
    how: str, part: int, emulator: Emulator, tmp_path: Path
) -> None:
    """ "up": killed while it comes up, then down; "prune": the same, without the folder; "down": killed while it goes."""
    found = tries(how, part, PARTS, "glusterfs", emulator.url, tmp_path)
    whole = found[-1]
    assert found[0]["after"] == part
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


@pytest.mark.parametrize("part", range(1, PARTS_OF_SERVED + 1))
@pytest.mark.parametrize(
    ("how", "kind"),
    [("up", "fsx-lustre"), ("down", "fsx-lustre"), ("up", "efs"), ("prune", "efs"), ("down", "efs")],
)  # fmt: skip
def test_after_a_kill_no_file_system_of_the_cloud_is_left(
    how: str, kind: str, part: int, emulator: Emulator, tmp_path: Path
) -> None:
    found = tries(how, part, PARTS_OF_SERVED, kind, emulator.url, tmp_path)
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
