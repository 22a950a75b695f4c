"""Keys of one cluster: a user's, and the one that all of its hosts have. They lie in its folder and go with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from wavetank.cluster.clouds.cloud import Keys
from wavetank.errors import ProviderError

USER_KEY = "user-key"
HOST_KEY = "host-key"


def make_keys(folder: Path, label: str) -> Keys:
    """Make both, ed25519, in a folder that only this user may read.

    Raises:
        ProviderError: ssh-keygen is missing or fails.
    """
    if shutil.which("ssh-keygen") is None:
        raise ProviderError("ssh-keygen is not installed: apt-get install openssh-client")
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in (USER_KEY, HOST_KEY):
        argv = [
            "ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            label,
            "-f",
            str(folder / name),
        ]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise ProviderError(f"ssh-keygen cannot make {folder / name}: {done.stderr.strip()}")
        os.chmod(folder / name, 0o600)  # noqa: PTH101 - beside the line that made it
    return Keys(
        user_public=(folder / f"{USER_KEY}.pub").read_text().strip(),
        host_private=(folder / HOST_KEY).read_text(),
        host_public=" ".join((folder / f"{HOST_KEY}.pub").read_text().split()[:2]),
    )
