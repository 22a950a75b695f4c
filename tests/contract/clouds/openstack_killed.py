"""What ``down`` or ``prune`` makes of a wavetank that is killed (SIGKILL) after each of its calls to OpenStack: a line for each try.

Usage: openstack_killed.py up|down URL FOLDER KIND [N]: killed after each call that changes something, and after the next, of a cluster
with a file system of that kind. With a share of Manila, from the first call that makes, or deletes, it: those before are as of the others.
With N, once: after the Nth call that changes something in Nova. That is for a real Nova, which cannot be copied. How: killed_calls.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from emulated_account import Elsewhere
from killed_calls import Killed, KilledOnce, Kills
from openstack_account import environment, share_of, spec_of

from wavetank.cluster.clouds.openstack import cloud
from wavetank.cluster.clouds.openstack.account import Account


def changes(call: str) -> bool:
    return not call.startswith("GET ")


def changes_nova(call: str) -> bool:
    return changes(call) and " nova:" in call


SMALL = {"nodes": {"compute": 1, "io": 1}, "storage": {"size": "20 GiB"}}
SPECS = {"nfs": spec_of(file_system={"kind": "nfs"}, **SMALL), "manila-share": share_of()}
FIRST_OF_SHARES = {"up": ("/shares",), "down": ("/shares/*",)}


def main() -> None:
    how, url, folder, kind, *after = sys.argv[1:]
    first = FIRST_OF_SHARES[how] if kind == "manila-share" else None
    killed = Killed(
        Account, environment, SPECS[kind], first, changes=changes_nova if after else changes
    )
    kills = (KilledOnce if after else Kills)(how, Elsewhere(url), Path(folder), killed)
    cloud.MOST_LOOKS = sys.maxsize
    Account.pause = lambda self, n_before: kills.between_looks()  # type: ignore[method-assign]
    if isinstance(kills, KilledOnce):
        kills.run_till(int(after[0]))
    else:
        kills.run()


if __name__ == "__main__":
    main()
