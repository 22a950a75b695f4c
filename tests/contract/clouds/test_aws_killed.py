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


PARTS = 4  # tests, each of every fourth call: they run side by side


@pytest.mark.parametrize("part", range(1, PARTS + 1))
@pytest.mark.parametrize("how", ["up", "down", "prune"])
def test_after_a_kill_at_any_call_nothing_is_left(
    how: str, part: int, emulator: Emulator, tmp_path: Path
) -> None:
    """ "up": killed while it comes up, then down; "prune": the same, without the folder; "down": killed while it goes."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), how, emulator.url, str(tmp_path / "state"), str(part), str(PARTS)],
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tries = [json.loads(line) for line in done.stdout.splitlines()]
    *killed, whole = tries
    # each try is killed some calls later, until one is not killed: no step is left out
    assert len(killed) >= 2
    assert [each["after"] for each in killed] == [part + PARTS * i for i in range(len(killed))]
    assert [each["killed"] for each in tries] == [True] * len(killed) + [False]
    for each in tries:
        assert each["left"] == [], f"killed after call {each['after']}, {each['call']}"
        assert not each["folder"]
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
        assert max(each["left_then"] for each in tries) >= 7
