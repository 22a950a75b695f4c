"""Daemons of GlusterFS on a host: how glusterd starts quickly, which daemons died, how they are ended.

Everything runs as shell text that is written here once; values only reach it as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wavetank.cluster.filesystems.base import ANSWER_TIMEOUT_S
from wavetank.cluster.host import Host
from wavetank.errors import FileSystemError, RemoteCommandError

STATE = "/run/wavetank-glusterfs"  # of glusterd: peers, volume files, its log
VOLUME = "wavetank"

# Of the 8 s that glusterd 10.3 takes to start, 7.5 s go to two dozen starts of the Python program of
# geo-replication, one a setting (strace). glusterd does without where that program cannot be executed for
# want of a file (ENOENT), so a stand-in with a missing interpreter covers it, in glusterd's own mount
# namespace only. The interpreter is named in /proc, where nobody can make a file: a directory that somebody
# had made under a name elsewhere turned the error into EACCES, and glusterd refused to start.
# glusterd goes into the background once it serves, and its status says when it cannot. Wherever its working directory
# is, it makes two directories of its usual one (10.3): those that were absent are noted, and removed when it stops.
START = r"""
set -e
state=$1
shift
if [ -s "$state/glusterd.pid" ] && kill -0 "$(cat "$state/glusterd.pid")" 2>/dev/null; then
  echo "a glusterd of wavetank runs here already" >&2
  exit 1
fi
mkdir -p "$state" /run/gluster /var/log/glusterfs
mkdir -- "$@"
for directory in /var/lib/glusterd/geo-replication /var/lib/glusterd/ss_brick; do
  [ -e "$directory" ] || echo "$directory" >>"$state/made"
done
cat >"$state/glusterd.vol"
printf '#!/proc/nonexistent\n' >"$state/no-geo-replication"
chmod 755 "$state/no-geo-replication"
for program in /usr/lib/*/glusterfs/gsyncd /usr/libexec/glusterfs/gsyncd; do
  if [ -x "$program" ]; then mount --bind "$state/no-geo-replication" "$program"; fi
done
exec glusterd --volfile="$state/glusterd.vol" --pid-file="$state/glusterd.pid" --log-file="$state/glusterd.log"
"""

# A line for each dead daemon. A process that is a zombie is dead too.
DEAD = r"""
for file in "$1/glusterd.pid" /run/gluster/vols/"$2"/*.pid; do
  pid=$(cat "$file" 2>/dev/null)
  if [ -z "$pid" ] || ! grep -q '^State:[^Z]*$' "/proc/$pid/status" 2>/dev/null; then
    case $file in */glusterd.pid) echo glusterd ;; *) echo "${file##*/}" ;; esac
  fi
done
"""

# Bricks first, then glusterd, each waited for; a kill after 5 s.
STOP = r"""
state=$1
volume=$2
shift 2
for file in /run/gluster/vols/"$volume"/*.pid "$state/glusterd.pid"; do
  pid=$(cat "$file" 2>/dev/null)
  [ -n "$pid" ] && kill "$pid" 2>/dev/null || continue
  tenths=0
  while kill -0 "$pid" 2>/dev/null; do
    tenths=$((tenths + 1))
    [ "$tenths" -le 50 ] || kill -9 "$pid" 2>/dev/null
    sleep 0.1
  done
done
if [ -f "$state/made" ]; then
  while read -r directory; do rm -rf -- "$directory"; done <"$state/made"
fi
rm -rf -- "$state" /run/gluster/vols/"$volume" "$@"
"""

# What the client itself knows of its connections, a file a brick, in the order of the bricks' numbers.
CONNECTIONS = """
number=0
while file="$1/.meta/graphs/active/$2-client-$number/private"; [ -e "$file" ]; do
  grep '^connected' "$file"
  number=$((number + 1))
done
"""

COMMAND_LINES = (
    "for file in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <\"$file\" 2>/dev/null && echo; done; true"
)


def glusterd_volfile(address: str) -> str:
    """Glusterd's own configuration: state below /run, listening on the cluster's network only."""
    return f"""volume management
    type mgmt/glusterd
    option working-directory {STATE}
    option transport-type socket
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option transport.socket.read-fail-log off
    option transport.socket.listen-port 24007
    option transport.socket.bind-address {address}
    option ping-timeout 0
    option event-threads 1
end-volume
"""


def start_server(host: Host, bricks: Sequence[str]) -> None:
    """Start glusterd, and make the directories of its bricks; it serves when this returns.

    Raises:
        FileSystemError: it does not start, or a brick of an earlier volume is there; with the errors of its log.
    """
    try:
        host.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", START, "sh", STATE, *bricks],
            stdin=glusterd_volfile(host.address),
        )  # fmt: skip
    except RemoteCommandError as error:
        raise FileSystemError(
            f"glusterd does not start on {host.name}: {error.stderr_tail or 'no output'}; "
            f"its log: {errors_in(host, f'{STATE}/glusterd.log')}"
        ) from error


def stop_server(host: Host, bricks: Sequence[str]) -> None:
    """End bricks and glusterd, and delete what they kept."""
    logs = [_brick_log(brick) for brick in bricks]
    host.run(["sh", "-c", STOP, "sh", STATE, VOLUME, *bricks, *logs])


def _brick_log(brick: str) -> str:
    return f"/var/log/glusterfs/bricks/{log_name(brick)}"


def dead_daemons(host: Host, bricks: Sequence[str]) -> list[str]:
    """Findings: glusterd or a brick died, with the last error of its log."""
    try:
        out = host.run(["sh", "-c", DEAD, "sh", STATE, VOLUME], timeout_s=ANSWER_TIMEOUT_S).stdout
    except RemoteCommandError as error:
        return [f"glusterfs server {host.name} does not answer: {error}"]
    return [_death(host, daemon, bricks) for daemon in out.split()]


def _death(host: Host, daemon: str, bricks: Sequence[str]) -> str:
    """A finding on "glusterd", or on a brick by the name of its file: ``10.77.0.3-storage-brick.pid`` (10.3)."""
    if daemon == "glusterd":
        what, log = daemon, f"{STATE}/glusterd.log"
    else:
        ends = {f"-{log_name(brick).removesuffix('.log')}.pid": brick for brick in bricks}
        brick = next((of for end, of in ends.items() if daemon.endswith(end)), bricks[0])
        what, log = "brick" if len(bricks) == 1 else f"brick {brick}", _brick_log(brick)
    return f"glusterfs {what} on {host.name} died; its log: {errors_in(host, log)}"


def client_command_lines(host: Host, mount_path: str) -> list[str]:
    """Command lines of the FUSE client processes of a mount.

    Sample (10.3): ``/usr/sbin/glusterfs --process-name fuse --volfile-server=10.77.0.3 --volfile-id=/wavetank /wavetank``.
    """
    lines = host.run(["sh", "-c", COMMAND_LINES]).stdout.splitlines()
    return [
        line.strip()
        for line in lines
        if (words := line.split())
        and words[0].rpartition("/")[2] == "glusterfs"
        and words[-1] == mount_path
    ]


def unreached_bricks(host: Host, mount_path: str, servers: Sequence[str]) -> list[str]:
    """Servers whose bricks a client is not connected to.

    Sample of a line (10.3): ``connected = 1``.

    Raises:
        RemoteCommandError: the client does not answer.
    """
    out = host.run(
        ["sh", "-c", CONNECTIONS, "sh", mount_path, VOLUME], timeout_s=ANSWER_TIMEOUT_S
    ).stdout
    connected = [line.rpartition("=")[2].strip() == "1" for line in out.splitlines()]
    connected += [False] * (len(servers) - len(connected))
    return [server for server, yes in zip(servers, connected, strict=True) if not yes]


def log_name(path: str) -> str:
    """How gluster names the log of a brick or of a mount."""
    return f"{path.strip('/').replace('/', '-')}.log"


def errors_in(host: Host, log: str) -> str:
    """The last errors of a gluster log; for messages, so never an error itself.

    Sample (10.3): ``[2026-11-21 02:09:03.654830 +0000] E [MSGID: 106053] [glusterd.c:1467:init] 0-management: Failed ...``.
    """
    try:
        lines = (
            host.run(["tail", "-n", "60", "--", log], timeout_s=ANSWER_TIMEOUT_S)
            .stdout.strip()
            .splitlines()
        )
    except RemoteCommandError:
        return f"no log {log}"
    errors = [line for line in lines if re.search(r"\] [ECM] \[", line)]
    return " | ".join(errors[-2:]) or "no error in it, so it was ended from outside"
