"""What ``down`` or ``prune`` makes of a wavetank that is killed (SIGKILL) after each of its calls to OpenStack: a line for each try.

Usage: openstack_killed.py up|down URL FOLDER KIND: killed after each call that changes something, and after the next, of a cluster
with a file system of that kind. With a share of Manila, from the first call that makes, or deletes, it: those before are as of the others.
How: killed_calls.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from emulated_account import Elsewhere
from killed_calls import Killed, Kills
from openstack_account import environment, share_of, spec_of

from wavetank.cluster.clouds.openstack import cloud
from wavetank.cluster.clouds.openstack.account import Account


def changes(call: str) -> bool:
    return not call.startswith("GET ")


SMALL = {"nodes": {"compute": 1, "io": 1}, "storage": {"size": "20 GiB"}}
SPECS = {"nfs": spec_of(file_system={"kind": "nfs"}, **SMALL), "manila-share": share_of()}
FIRST_OF_SHARES = {"up": ("/shares",), "down": ("/shares/*",)}


def main() -> None:
    how, url, folder, kind = sys.argv[1:]
    first = FIRST_OF_SHARES[how] if kind == "manila-share" else None
    killed = Killed(Account, environment, SPECS[kind], first, changes=changes)
    cloud.MOST_LOOKS = sys.maxsize
    Account.pause = lambda self, n_before: None  # type: ignore[method-assign]
    Kills(how, Elsewhere(url), Path(folder), killed).run()


if __name__ == "__main__":
    main()
