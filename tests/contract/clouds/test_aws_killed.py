"""wavetank killed (SIGKILL) after every single call that up and down make to AWS: then ``down`` or ``prune`` leaves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import Emulator

PROGRAM = Path(__file__).parent / "aws_killed.py"


@pytest.mark.parametrize("how", ["up", "down", "prune"])
def test_after_a_kill_at_any_call_nothing_is_left(
    how: str, emulator: Emulator, tmp_path: Path
) -> None:
    """ "up": killed while it comes up, then down; "prune": the same, without the folder; "down": killed while it goes."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), how, emulator.url, str(tmp_path / "state")],
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tries = [json.loads(line) for line in done.stdout.splitlines()]
    # each try is killed one call later, until one is not killed: no step is left out
    assert [each["after"] for each in tries[:-1]] == list(range(1, len(tries)))
    assert [each["killed"] for each in tries] == [True] * (len(tries) - 1) + [False]
    for each in tries:
        assert each["left"] == [], f"killed after call {each['after']}, {each['call']}"
        assert not each["folder"]
    # kills at each kind of call that makes, or removes, something: there was something to remove
    killed_at = {each["call"].partition(":")[2] for each in tries[:-1]}
    if how == "down":
        assert killed_at >= {
            "TerminateInstances", "DeleteSecurityGroup", "DeletePlacementGroup", "DeleteKeyPair", "DeleteSchedule",
        }  # fmt: skip
    else:
        assert killed_at >= {
            "ImportKeyPair", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "CreatePlacementGroup", "RunInstances",
            "CreateTags", "CreateSchedule",
        }  # fmt: skip
        assert (
            max(each["left_then"] for each in tries) >= 7
        )  # three instances, their volumes, keys and groups
