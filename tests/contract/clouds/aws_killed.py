"""What ``down`` or ``prune`` makes of a wavetank that is killed (SIGKILL) after each of its calls to AWS: a line for each try.

Usage: aws_killed.py up|down|prune URL FOLDER KIND: killed after each call, of a cluster with a file system of that kind. With one that
AWS runs, from the first call that makes, or deletes, what serves it: those before are as of the others. How: killed_calls.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import boto3
from aws_account import LUSTRE, NFS_BY_AWS, REAPER, environment, served_of, spec_of
from emulated_account import Elsewhere
from killed_calls import Killed, Kills

from wavetank.cluster.clouds.aws import account

SPECS = {
    "glusterfs": spec_of(cloud={"reaper": REAPER}),
    "fsx-lustre": served_of(LUSTRE),
    "efs": served_of(NFS_BY_AWS),
}
FIRST_OF_SERVED = {
    "up": ("CreateFileSystem",),
    "prune": ("CreateFileSystem",),
    "down": ("DeleteFileSystem", "DeleteMountTarget"),
}


def main() -> None:
    how, url, folder, kind = sys.argv[1:]
    first = FIRST_OF_SERVED[how] if kind != "glusterfs" else None
    kills = Kills(
        how, Elsewhere(url), Path(folder), Killed(account.Account, environment, SPECS[kind], first)
    )
    kills.point_to(kills.aws, kills.folder)
    session = boto3.Session(region_name="us-east-1")
    for service in ("ec2", "sts", "ssm", "scheduler", "fsx", "efs"):
        session.client(service)
    account.boto3.Session = lambda **_: session
    kills.run()


if __name__ == "__main__":
    main()
