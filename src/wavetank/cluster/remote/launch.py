"""The program that stands before a launcher and runs it on a host, for hosts that this machine's files and network do not reach.

``python -m wavetank.cluster.remote.launch DIRECTORY FOLDER COMMAND...``: copies FOLDER and the C parts that COMMAND names to the
hosts of the cluster in DIRECTORY, and runs COMMAND on the first one, with its paths as they are there. Standard streams and
exit status are the command's. Asked to end, it ends what runs there. Reads launch.json, which ``launching`` wrote.

Why not from this machine: each host's daemon calls the launcher back, which a firewall or address translation prevents.
"""

from __future__ import annotations

import contextlib
import io
import json
import secrets
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from wavetank import native
from wavetank.cluster.host import on_all
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.remote.launching import built_part, read_builds
from wavetank.cluster.remote.parts import AS_ROOT, FIND_MPI, LAUNCH_FILE, bring
from wavetank.errors import ClusterError, ProviderError, RemoteCommandError

LAUNCH_MARK = "WAVETANK_LAUNCH"
LOST = 255  # of ssh: the connection failed, and what was started may go on
SEND_TIMEOUT_S = 600.0

# $1: program; the rest: its arguments. One that is elsewhere on the host is found by its name.
START = (
    FIND_MPI
    + """cd / || exit 1
program=$1; shift
found=$(command -v -- "$program") || found=$(command -v -- "${program##*/}") || {
  echo "$program is not on this host, nor on its PATH" >&2
  exit 127
}
exec "$found" "$@"
"""
)
UNPACK = 'mkdir -p -m 755 -- "$1" && tar -C "$1" -xzf -'


class _EndError(Exception):
    """A signal came."""

    def __init__(self, number: int) -> None:
        super().__init__(str(number))
        self.number = number


def main(argv: Sequence[str]) -> int:
    """Run it; returns the exit status."""
    directory, folder, *command = argv
    hosts = _hosts(Path(directory))
    there = f"{hosts[0].home}/launch/{Path(folder).name}-{secrets.token_hex(4)}"
    packed = _packed(Path(folder))
    with _signals():
        try:
            words = [word.replace(folder, there) for word in command]
            builds = read_builds(Path(directory))
            for part in {word for word in command if native.is_part(word)}:
                # of a build on a host, the part that was built there
                brought = Path(part) if builds is None else built_part(Path(part), hosts[0], builds)
                words = [word.replace(part, bring(hosts, brought)) for word in words]
            on_all(hosts, lambda host: _send(host, packed, there))
            return _run(hosts[0], words)
        except _EndError as asked:
            return 128 + asked.number
        finally:
            _quietly(lambda: on_all(hosts, lambda host: host.run(["rm", "-rf", "--", there])))


def _run(host: SshHost, words: Sequence[str]) -> int:
    """Run the command on a host with this process's streams; whatever ends this, nothing of it stays there."""
    mark = secrets.token_hex(8)
    argv, _ = host.reaching(["sh", "-c", START, "sh", *words], {LAUNCH_MARK: mark, **AS_ROOT})
    process = subprocess.Popen(
        argv, start_new_session=True
    )  # a signal to this group is answered here
    status = LOST
    try:
        status = process.wait()
    finally:
        if status in (LOST, -signal.SIGKILL):
            process.terminate()
            _quietly(lambda: host.end_marked(LAUNCH_MARK, mark))
            process.wait()
            # what was on its way when it was asked to end has begun by now
            _quietly(lambda: host.end_marked(LAUNCH_MARK, mark))
    return status if status >= 0 else 128 - status


def _hosts(directory: Path) -> list[SshHost]:
    try:
        said = json.loads((directory / LAUNCH_FILE).read_text())
        return [
            SshHost(name, name, directory / "ssh_config", said["home"], said["sudo"])
            for name in said["nodes"]
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProviderError(
            f"the cluster of {directory} cannot start programs ({error}): take it down, and bring it up again"
        ) from error


def _packed(folder: Path) -> bytes:
    """All files of a folder, as tar and gzip have them."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        archive.add(folder, arcname=".")
    return stream.getvalue()


def _send(host: SshHost, packed: bytes, there: str) -> None:
    argv, _ = host.reaching(["sh", "-c", UNPACK, "sh", there], {})
    done = subprocess.run(
        argv, input=packed, capture_output=True, check=False, timeout=SEND_TIMEOUT_S, start_new_session=True
    )  # fmt: skip
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace")
        raise RemoteCommandError(host.name, argv, done.returncode, said)


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """The first signal that asks for the end is an exception; later ones are not heard."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def ask(number: int, _: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise _EndError(number)

    for number in numbers:
        signal.signal(number, ask)
    yield


def _quietly(action: Callable[[], object]) -> None:
    """Do what cleans up; that it cannot be done keeps no result back: the hosts end with all they have."""
    try:
        action()
    except (ClusterError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"wavetank: {error}\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (native.NativeError, ClusterError, OSError, subprocess.SubprocessError) as trouble:
        sys.exit(f"cannot start programs on the cluster's hosts: {trouble}")
