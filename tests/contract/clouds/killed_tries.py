"""Programs that are killed after each of their calls to a cloud, and what came of each kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def tries(
    program: Path,
    how: str,
    url: str,
    folder: Path,
    *words: str,
    every: bool = True,
    least: int = 10,
) -> list[dict[str, Any]]:
    """What came of each kill: nothing is left of any; the last try is not killed.

    Args:
        program: as killed_calls.py describes it.
        how: "up", "down" or "prune".
        url: of the account.
        folder: for the cluster's state.
        words: what else the program is given.
        every: whether it is killed after every call.
    """
    done = subprocess.run(
        [sys.executable, str(program), how, url, str(folder / "state"), *words],
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    *after, unkilled = [each["killed_after"] for each in found]
    assert unkilled is None
    assert len(after) >= least
    if every:  # no call is left out
        assert after == [*range(after[0], after[0] + len(after))]
    for each in found:
        assert each["left"] == [], f"killed after call {each['killed_after']}, {each['call']}"
        assert not each["folder"]
    return found
