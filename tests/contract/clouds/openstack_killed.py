"""What ``down`` or ``prune`` makes of a wavetank that is killed (SIGKILL) after each of its calls to OpenStack: a line for each try.

Usage: openstack_killed.py up|down URL FOLDER. How: killed_calls.py. Killed after each call that changes something, and after the next.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from emulated_account import Elsewhere
from killed_calls import Killed, Kills
from openstack_account import environment, spec_of

from wavetank.cluster.clouds.openstack.account import Account


def changes(call: str) -> bool:
    return not call.startswith("GET ")


def main() -> None:
    how, url, folder = sys.argv[1:]
    Account.pause = lambda self, n_before: None  # type: ignore[method-assign]
    nodes = {"compute": 1, "io": 1}
    spec = spec_of(nodes=nodes, storage={"size": "20 GiB"}, file_system={"kind": "nfs"})
    Kills(
        how, Elsewhere(url), Path(folder), Killed(Account, environment, spec, changes=changes)
    ).run()


if __name__ == "__main__":
    main()
