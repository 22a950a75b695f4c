"""Hosts over ssh for tests without sshd: a stand-in for ssh runs on this machine what a host would, in its own session."""

from __future__ import annotations

import json
from pathlib import Path

# Notes the host, and gives the command to a shell, as sshd does.
SSH = """#!/bin/sh
[ "$1" != -F ] || shift 2
echo "$1" >>'{noted}'
shift
[ "$1" != -- ] || shift
exec setsid -w sh -c "$*"
"""


def make_ssh(folder: Path) -> Path:
    """Put a program ``ssh`` into a folder; returns the file with the hosts that it was called for."""
    noted = folder / "called-for"
    folder.mkdir()
    program = folder / "ssh"
    program.write_text(SSH.format(noted=noted))
    program.chmod(0o755)
    return noted


def make_cluster(folder: Path, home: Path, nodes: list[str]) -> Path:
    """A cluster's directory as far as launches read it, and the home on its hosts."""
    folder.mkdir()
    (home / "launch").mkdir(parents=True)
    (folder / "ssh_config").write_text("")
    said = {"home": str(home), "sudo": False, "nodes": nodes}
    (folder / "launch.json").write_text(json.dumps(said))
    return folder
