"""The program that a launcher calls in place of ssh: [options] HOST COMMAND...; ssh's options mean nothing to it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def write_remote_shell(
    path: Path,
    remote_shell: Sequence[str],
    lines: str = "",
    before: str = "",
    command: str = '"$@"',
) -> None:
    """Write it.

    Args:
        path: of the program.
        remote_shell: argv prefix of what reaches a host, see ``job.Placement``.
        lines: of shell, run here first; $host is the host's name.
        before: a shell word put before the command, which the host's own shell reads.
        command: shell words for the command itself.
    """
    path.write_text(
        '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1\nshift\n'
        f'{lines}exec {shlex.join(remote_shell)} "$host" {before} {command}\n'
    )
    path.chmod(0o755)
