"""NFS servers of spaces: a ganesha for each space, with one export, two ports, and a root of its own in which no other space is.

A crash, or a file that ganesha does not take, harms one space. A file is read by ganesha's own parser before it takes the place of the
one in force. Ganesha does not start without a port mapper, so it has one of its own until it runs, which nothing reaches from outside.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from wavetank.cluster.facade import Host, Needs, ganesha
from wavetank.service.core.nfs_export import NfsExport
from wavetank.service.core.records import Access
from wavetank.service.makers.daemons import Daemons
from wavetank.service.makers.images import FOLDERS, Image, Images
from wavetank.service.makers.run import do

MOUNTS = Images(FOLDERS["nfs"]).mounts
DAEMONS = Daemons(MOUNTS, ("ganesha.nfsd -p /", " -f /"), ())
FIRST_PORT = 28100  # even; the next one is that of its mounts
LAST_NUMBER = 949
_SEEN_AT = "/space"
"""Where a ganesha has the file system of its space, in its own root."""
_LIBRARY = "/usr/lib/ganesha/libganesha_nfsd.so"
# Standard input: the file. Ganesha 4.3 has no option for it; its parser ends by a fault, or gives nothing, where a file is none.
CHECK = f"""set -eu
file=$(mktemp)
trap 'rm -f "$file"' EXIT
cat >"$file"
python3 -I -c '
import ctypes, sys
parse = ctypes.CDLL("{_LIBRARY}", mode=ctypes.RTLD_GLOBAL).config_ParseFile
parse.restype = ctypes.c_void_p
wrong = ctypes.create_string_buffer(4096)
sys.exit(not parse(sys.argv[1].encode(), wrong) or any(wrong.raw[:8]))
' "$file" >/dev/null 2>&1 || {{ echo "its NFS server would not take what it is to serve" >&2; exit 1; }}
"""
# See Daemons.start; $4 port. Standard input: ganesha.conf.
START = rf"""set -eu
umask 077
root=$(dirname "$1")/.root
source=$(findmnt -n -o SOURCE --mountpoint "$1")
confine "$root" "$1" {_SEEN_AT}
: >"$root$source"
mount --bind "$source" "$root$source"  # of which it reads the UUID that is in all handles, by way of /sys
mkdir "$root/sys"
mount --bind /sys "$root/sys"
# What it knows of: this file system, and not the server's others.
echo "$source {_SEEN_AT} xfs rw 0 0" >"$root/etc/mtab"
mkdir -p "$root/var/run/ganesha" "$root/var/run/rpcbind" "$root/var/lib/nfs/ganesha"
ln -s /var/run "$root/run"
cp /etc/netconfig "$root/etc/"
printf 'sunrpc 111/tcp portmapper\nsunrpc 111/udp portmapper\n' >"$root/etc/services"
printf 'root:x:0:0::/:/bin/sh\n_rpc:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
cat >"$root/$3"
enter "$root"
log=/var/log/ganesha
unshare --net rpcbind -f </dev/null >/dev/null 2>&1 &
mapper=$!
tries=0
until [ -S /run/rpcbind.sock ] || [ $tries -gt 200 ]; do
  tries=$((tries + 1))
  sleep 0.05
done
BLKID_FILE=/dev/null ganesha.nfsd -p "/$2" -f "/$3" -L "$log" -N NIV_EVENT </dev/null >/dev/null 2>&1 || :
tries=0
status=0
until grep -q 'NFS SERVER INITIALIZED' "$log" 2>/dev/null; do
  tries=$((tries + 1))
  process=$(cat "/$2" 2>/dev/null || echo none)
  if [ $tries -gt 600 ] || {{ [ $tries -gt 100 ] && [ ! -e "/proc/$process" ]; }}; then
    said=$(grep -E ':(CRIT|FATAL|MAJ) :' "$log" | grep -v -e DBUS -e krb5 -e principal | tail -n 2 | tr '\n' ' ')
    echo "ganesha.nfsd does not serve it: $said" >&2
    [ ! -e "/proc/$process" ] || kill -KILL "$process"
    status=1
    break
  fi
  sleep 0.05
done
kill -KILL $mapper 2>/dev/null || :
umount -l /sys
umount -l /proc
rmdir /proc /sys
exit $status
"""


def needs() -> Needs:
    """Programs of a server."""
    return (
        ganesha.needs("nfs-ganesha-vfs")
        | Needs({"python3": "apt-get install python3"})
        | Needs(files={_LIBRARY: "apt-get install nfs-ganesha"})
    )


def rules_text(number: int, access: Iterable[Access]) -> str:
    """Rules of a space as one line, for its folder."""
    rules = sorted([rule.subject, rule.level] for rule in access)
    return json.dumps({"number": number, "access": rules})


def number_of(image: Image) -> int:
    """Number of the export of a space that is made: it says which ports it has, and is in all handles."""
    return int(json.loads(image.rules)["number"])


def access_of(image: Image) -> frozenset[Access]:
    """Rules of a space that is made."""
    rules = json.loads(image.rules)["access"]
    return frozenset(Access(kind="ip", subject=subject, level=level) for subject, level in rules)


def free_number(there: Iterable[Image]) -> int:
    """A number that no export of a server has."""
    taken = {number_of(image) for image in there if image.state != "unmade"}
    return next(n for n in range(1, LAST_NUMBER + 1) if n not in taken)


def ports_of(image: Image) -> tuple[int, int]:
    """Of a space that is made: of NFS, and of mounts."""
    port = FIRST_PORT + 2 * number_of(image)
    return port, port + 1


def export_of(server: Host, image: Image) -> str:
    """How to mount a space that is made."""
    return NfsExport(server.address, ports_of(image)[0], image.space).export()


def hash_of(server: Host, image: Image) -> str:
    """Of what the server of a space is to be."""
    return hashlib.sha256(text_of(server, image).encode()).hexdigest()[:32]


def text_of(server: Host, image: Image) -> str:
    """ganesha.conf of a space that is made. Of rules it has the numbers of addresses, and no text."""
    port, mount_port = ports_of(image)
    clients = tuple(
        ganesha.Client(str(rule.network), "RW" if rule.level == "rw" else "RO")
        for rule in access_of(image)
    )
    export = ganesha.Export(_SEEN_AT, {"Name": "VFS"}, number_of(image), f"/{image.space}", clients)
    core = {"mount_path_pseudo": "true", "MNT_Port": str(mount_port), "Enable_UDP": "false"}
    return ganesha.configuration(server.address, [export], {}, port=port, core=core)


def start(server: Host, image: Image) -> None:
    """Start the server of a space, or start it again, once its file has been read by ganesha's parser.

    Raises:
        ServiceError: it does not start; where ganesha would not take its file, the one that runs goes on.
    """
    text = text_of(server, image)
    do(server, f"serve {image.space}", CHECK, [], text)
    words = [str(ports_of(image)[0])]
    DAEMONS.start(server, image.space, hash_of(server, image), START, text, words)
