"""C parts of wavetank on hosts over ssh: brought once, and tried there before anything relies on them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path

from wavetank.cluster.host import on_all
from wavetank.cluster.remote.host import SshHost
from wavetank.errors import ProviderError, RemoteCommandError

LAUNCH_FILE = "launch.json"  # in the cluster's directory on this machine: where launchers run

# Amazon Linux, as Fedora, has Open MPI in a directory that is on nobody's path.
FIND_MPI = "PATH=$PATH:/usr/lib64/openmpi/bin\n"
# Hosts of ours run ranks as root; Open MPI refuses that without both (mpirun(1)).
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TRY_TIMEOUT_S = 120.0

NO_MPI = "mpirun is not installed"

# $1: the replay program. It names what it lacks before it starts anything; mpirun is tried with it.
# Sample of the first line: ``mpirun (Open MPI) 4.1.4``.
TRY = (
    FIND_MPI
    + f"""command -v mpirun >/dev/null || {{ echo "{NO_MPI}" >&2; exit 1; }}
"""
    + """mpirun --version | head -n 1
sessions=$(mktemp -d)  # of its own: of two mpirun with one folder, one that ends takes it from the other
said=$(TMPDIR=$sessions mpirun -np 1 "$1" 2>&1 </dev/null)
rm -rf "$sessions"
case $said in *"needs --plan"*) exit 0 ;; esac
printf '%s\\n' "$said" | sed '/^-*$/d' >&2  # what the program said, in any order with mpirun's lines, is among the last ones
exit 1
"""
)


class DoesNotRunError(ProviderError):
    """The replay program does not run on a host, which has what starts it: another build may."""


# $1: the part. Says whether it is there; if not, its folder is made.
LOOK = 'if [ -f "$1" ]; then echo there; else mkdir -p -- "${1%/*}"; fi'


def bring(hosts: Sequence[SshHost], part: Path) -> str:
    """Have a part on all hosts; copied where it is not yet.

    Returns:
        Where it is, the same on all: its folder is named by its content, so that another build is another part.

    Raises:
        RemoteCommandError: it cannot be copied.
    """
    digest = hashlib.sha256(part.read_bytes()).hexdigest()[:16]
    there = f"{hosts[0].home}/programs/{digest}/{part.name}"

    def copy(host: SshHost) -> None:
        if host.run(["sh", "-c", LOOK, "sh", there]).stdout.strip() == "there":
            return
        coming = f"{there}.{secrets.token_hex(4)}"  # hosts may share their home
        host.put(part, coming)
        host.run(["mv", "--", coming, there])

    on_all(hosts, copy)
    return there


def try_replay(hosts: Sequence[SshHost], program: str, built: str) -> list[str]:
    """Start the replay program on each host as it will be started; what mpirun says of itself there.

    Args:
        hosts: to try it on.
        program: where it is on them.
        built: where it was built, for the message.

    Raises:
        DoesNotRunError: it does not run; with what was said there.
        ProviderError: there is nothing to start it with.
    """

    def attempt(host: SshHost) -> str:
        try:
            argv = ["sh", "-c", TRY, "sh", program]
            return host.run(argv, timeout_s=TRY_TIMEOUT_S, env=AS_ROOT).stdout.strip()
        except RemoteCommandError as error:
            kind = ProviderError if NO_MPI in error.stderr_tail else DoesNotRunError
            raise kind(
                f"wavetank's replay program does not run on {host.name}: {error.stderr_tail.strip() or error}. It was built "
                f"{built}: hosts need a distribution and an architecture for which that is good, and Open MPI"
            ) from error

    return on_all(hosts, attempt)
