"""What one server exports: the rules of each space as text, ganesha.conf of all of them, and what the running server has of it.

Ganesha reads its file again when it is told to, and says nothing when it has. So the file has one export more, for the server itself
alone, whose name is a hash of all others. It is the first one, and ganesha removes the one before it after all others are as the file
says: where its name alone is in the server's list, the rest is in force too.

This export has a second purpose: it is the file system that the spaces are mounted in. Ganesha takes what lies above an export for a part
of it, and so lets handles through of all file systems up to the server's root, but not where those are exported by themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

from wavetank.cluster.filesystems.nfs_export import ganesha
from wavetank.cluster.filesystems.nfs_export.exports import Client, Export
from wavetank.cluster.host import Host
from wavetank.service.core.records import Access
from wavetank.service.makers.images import FOLDERS, Image, Images, do

NAME = "spaces"
"""Of our ganesha: a cluster's own may be on the same host."""
MOUNTS = Images(FOLDERS["nfs"]).mounts
OWN_NUMBERS = (1, 2)
FIRST_NUMBER = 10
LAST_NUMBER = 65535
_IN_FORCE = re.compile(r"^/in-force-([12])-([0-9a-f]{32})\s", re.MULTILINE)
# $1: address. Nothing is said where no server answers. While ganesha reads, there are two.
# Sample (nfs-utils 2.6.2): "/in-force-1-9f86d081884c7d65 10.77.0.3/32".
SHOW = """set -u
tries=0
while shown=$(showmount -e --no-headers "$1" 2>/dev/null | grep "^/in-force-") && [ "$(echo "$shown" | wc -l)" -gt 1 ]; do
  tries=$((tries + 1))
  [ $tries -lt 4000 ] || { echo "its NFS server does not take its exports" >&2; exit 1; }
  sleep 0.05
done
echo "$shown"
"""
# Standard input: the file. $1 file.
WRITE = """set -eu
umask 077
cat >"$1.new"
mv "$1.new" "$1"
"""
# $1 address, $2 name that is to be seen, $3 file with the server's number. The signal is sent again: it may have come before its handler.
READ_AGAIN = """set -u
tries=0
until [ "$(showmount -e --no-headers "$1" 2>/dev/null | grep "^/in-force-" | cut -d ' ' -f 1)" = "$2" ]; do
  if [ $((tries % 40)) = 0 ]; then
    pid=$(cat "$3")
    grep -q ganesha "/proc/$pid/comm" && kill -HUP "$pid" || { echo "its NFS server is gone" >&2; exit 1; }
  fi
  tries=$((tries + 1))
  [ $tries -lt 4000 ] || { echo "its NFS server does not take its exports" >&2; exit 1; }
  sleep 0.05
done
"""
RUNS = """grep -q ganesha "/proc/$(cat "$1")/comm" """


def rules_text(number: int, access: Iterable[Access]) -> str:
    """Rules of a space as one line, for its folder."""
    rules = sorted([rule.subject, rule.level] for rule in access)
    return json.dumps({"number": number, "access": rules})


def number_of(image: Image) -> int:
    """Number of the export of a space that is made."""
    return int(json.loads(image.rules)["number"])


def access_of(image: Image) -> frozenset[Access]:
    """Rules of a space that is made."""
    rules = json.loads(image.rules)["access"]
    return frozenset(Access(kind="ip", subject=subject, level=level) for subject, level in rules)


def free_number(there: Iterable[Image]) -> int:
    """A number that no export of a server has."""
    taken = {number_of(image) for image in there if image.state != "unmade"}
    return next(n for n in range(FIRST_NUMBER, LAST_NUMBER + 1) if n not in taken)


def in_force(server: Host, there: Iterable[Image]) -> bool:
    """Whether the server that runs exports these spaces by these rules, and nothing else.

    Raises:
        ServiceError: the server cannot be asked.
    """
    shown = _shown(server)
    return shown is not None and shown[1] == _hash(server, there)


def put_in_force(server: Host, there: tuple[Image, ...]) -> None:
    """Have a server export these spaces by these rules, and nothing else; it does when this returns.

    Raises:
        WavetankError: it does not.
    """
    shown, wanted = _shown(server), _hash(server, there)
    if shown is not None and shown[1] == wanted:
        return
    number = OWN_NUMBERS[1] if shown is not None and shown[0] == OWN_NUMBERS[0] else OWN_NUMBERS[0]
    own = f"/in-force-{number}-{wanted}"
    text = _text(
        server,
        [
            Export(MOUNTS, {"Name": "VFS"}, number, own, (Client(server.address, "RO"),)),
            *_exports(there),
        ],
    )
    file, pid = ganesha.configuration_file(NAME), ganesha.pid_file(NAME)
    do(server, "write its exports", WRITE, [file], text)
    if shown is None and not ganesha.answers(server, ["sh", "-c", RUNS, "sh", pid]):
        ganesha.start(server, text, server.address, NAME)
    do(server, "put its exports in force", READ_AGAIN, [server.address, own, pid])


def export_of(server: Host, space: str) -> str:
    """How to mount a space, as mount(8) takes it."""
    return f"{server.address}:{_name(space)}"


def _name(space: str) -> str:
    return f"/{space}"


def _exports(there: Iterable[Image]) -> list[Export]:
    served = sorted((image for image in there if _is_served(image)), key=number_of)
    return [
        Export(
            path=f"{MOUNTS}/{image.space}",
            fsal={"Name": "VFS"},
            number=number_of(image),
            pseudo=_name(image.space),
            clients=tuple(
                Client(rule.subject, "RW" if rule.level == "rw" else "RO")
                for rule in sorted(access_of(image), key=lambda rule: rule.subject)
            ),
        )
        for image in served
    ]


def _is_served(image: Image) -> bool:
    return image.mounted and image.state != "unmade"


def _hash(server: Host, there: Iterable[Image]) -> str:
    return hashlib.sha256(_text(server, _exports(there)).encode()).hexdigest()[:32]


def _text(server: Host, exports: list[Export]) -> str:
    return ganesha.configuration(server.address, exports, {}, core={"mount_path_pseudo": "true"})


def _shown(server: Host) -> tuple[int, str] | None:
    """Number and hash of what the server has in force; None where it does not answer, or never had anything of ours."""
    shown = do(server, "say what it exports", SHOW, [server.address]).stdout
    found = _IN_FORCE.search(shown)
    return None if found is None else (int(found[1]), found[2])
