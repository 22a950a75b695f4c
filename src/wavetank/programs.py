"""Where programs of this machine are found: the one place for the doctor, the checks before a cluster and its nodes."""

from __future__ import annotations

import os
import shutil

# Debian's path of root; users' paths lack the directories of system programs.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def search_path() -> str:
    """The system's directories, then those of PATH."""
    own = os.environ.get("PATH")
    return f"{SYSTEM_PATH}:{own}" if own else SYSTEM_PATH


def find_program(name: str) -> str | None:
    """Path of a program, None when this machine has none of the name."""
    return shutil.which(name, path=search_path())
