"""Spaces on the devices of one server: each is a file system of its own, XFS in an image file that is mounted by a loop device.

In a folder of each kind on the device a space has a folder of its identity. In it are:

- ``image``;
- ``rules``: one line that the maker wrote;
- ``label``: what is called after it on the server, where that is not its identity: it has several devices there;
- ``unmade`` as long as it is being made or removed;
- ``growing`` as long as its file system is smaller than its image.

Images are mounted below ``Images.mounts``, each in a folder of its label. That is a file system of its own: ganesha lets handles
through of what lies above an export up to the root, as far as nothing else is exported there. ``nfs.exports`` exports this one, to the
server itself.

What there is, is asked from the server; nothing is remembered. Each script holds the server's lock, so that what a killed process
left running ends first, and each may be run again from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wavetank.cluster.facade import Finished, Host, Needs
from wavetank.service.core.records import Kind
from wavetank.service.makers.run import LOOK_TIMEOUT_S, NOT_MOUNTED, do
from wavetank.units import exact_size

FOLDERS: Mapping[Kind, str] = {"nfs": "wavetank-spaces", "glusterfs": "wavetank-bricks"}
"""Below a device, what each kind of spaces has: a server may serve several, and each maker sees its own alone."""
HOMES = "wavetank"
"""Below a device of a machine that a cloud made, what its cluster has: the first start makes it."""
_OURS = " ".join(f"-e {name}" for name in (*FOLDERS.values(), HOMES))
WIPED_AT_ONCE = 32 * 2**30  # bytes; 1800 s do for them at 18 MiB/s

# Sample of a line, fields with tabs between: "space sp-1f /storage 536870912 mounted whole sp-1f {...rules...}".
LIST = f"""set -eu
for device in "$@"; do
  mountpoint -q "$device" || exit {NOT_MOUNTED}
  for folder in "$device/$root"/sp-* "$device/$root"/new-sp-*; do
    [ -d "$folder" ] || continue
    id=${{folder##*/}}
    bytes=$(stat -c %s "$folder/image" 2>/dev/null || echo 0)
    label=$(cat "$folder/label" 2>/dev/null || echo "${{id#new-}}")
    mounted=unmounted
    if mountpoint -q "$mounts/$label"; then mounted=mounted; fi
    state=whole
    if [ -e "$folder/growing" ]; then state=growing; fi
    if [ -e "$folder/unmade" ] || [ ! -e "$folder/rules" ]; then state=unmade; fi
    case $id in new-*) state=unmade ;; esac
    rules=$(cat "$folder/rules" 2>/dev/null || :)
    printf 'space\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\n' "${{id#new-}}" "$device" "$bytes" "$mounted" "$state" "$label" "$rules"
  done
done
"""
# Small kernels, as of guests, have loop devices as a module that nothing loads by itself.
LOOP = "[ -e /dev/loop-control ] || modprobe loop 2>/dev/null || :"
# $1 how many programs, the programs, then device and bytes of each. Says a line for each thing that is wrong.
# Network file systems are told by their type (sample of findmnt 2.38.1: "xfs"); an image on one would be another server's.
LOOK = f"""set -u
PATH=$PATH:/usr/sbin:/sbin
n=$1
shift
while [ "$n" -gt 0 ]; do
  command -v "$1" >/dev/null || echo "missing $1"
  n=$((n - 1))
  shift
done
{LOOP}
command -v losetup >/dev/null && {{ losetup -f >/dev/null 2>&1 || echo "wrong its kernel has no loop devices, or none is free"; }}
while [ $# -gt 0 ]; do
  at=$1
  wanted=$2
  shift 2
  if [ ! -e "$at" ]; then
    echo "wrong there is no $at"
  elif [ -b "$at" ]; then
    echo "wrong $at is a block device: mount a file system of it, and name the folder"
  elif [ ! -d "$at" ]; then
    echo "wrong $at is no folder"
  elif ! mountpoint -q "$at"; then
    echo "wrong nothing is mounted at $at: a device is a folder on which a local file system is mounted"
  else
    type=$(findmnt -n -o FSTYPE --mountpoint "$at" | tail -n 1)
    case $type in
    nfs* | cifs | smb* | ceph | lustre | fuse* | 9p | overlay | tmpfs | proc | sysfs)
      echo "wrong $at is a file system of type $type: a device is a local one, on a disk" ;;
    btrfs | zfs | bcachefs | f2fs | nilfs2)
      echo "wrong $at is a file system of type $type, which overwrites elsewhere: deleted data would stay. Use XFS or ext4" ;;
    *)
      [ -w "$at" ] || echo "wrong $at cannot be written"
      has=$(($(stat -f -c '%b * %S' "$at")))
      [ "$has" -ge "$wanted" ] || echo "small $at $has $wanted"
      others=$(ls -A "$at" | grep -v -x {_OURS} -e 'lost+found' | head -n 3 | tr '\n' ' ')
      [ -z "$others" ] || echo "wrong $at is in use: it holds other things than spaces (${{others% }})" ;;
    esac
  fi
done
"""
# $root, $mounts: see Images. $1 device, $2 space.
# What is mounted can neither be run nor be a device, should anybody on the server look into it.
OPEN = f"""set -eu
umask 077
exec 9>$mounts.lock
flock 9
mountpoint -q "$1" || exit {NOT_MOUNTED}
mkdir -p "$1/$root" "$mounts"
mountpoint -q "$mounts" || mount -t tmpfs -o size=4m,mode=700,nosuid,nodev,noexec wavetank-spaces "$mounts"
folder=$1/$root/$2
at="$mounts"/$(cat "$folder/label" 2>/dev/null || echo "$2")
show() {{
  mkdir -p "$at"
  mountpoint -q "$at" || {{
    {LOOP}
    mount -o loop,nosuid,nodev,noexec "$folder/image" "$at"
  }}
}}
hide() {{
  tries=0
  while mountpoint -q "$at"; do
    umount "$at" && break
    tries=$((tries + 1))
    [ $tries -lt 300 ] || exit 1
    sleep 0.1
  done
  rm -rf --one-file-system "$at"
}}
"""
# $3 bytes, $4 label; standard input: rules. A space that is not "unmade" is left as it is: this may come late, from a killed process.
MAKE = f"""{OPEN}
if [ ! -e "$folder" ]; then
  mkdir -p "$1/$root/new-$2"
  : >"$1/$root/new-$2/unmade"
  [ "$4" = "$2" ] || echo "$4" >"$1/$root/new-$2/label"
  at="$mounts"/$4
  mv -T "$1/$root/new-$2" "$folder"
fi
[ -e "$folder/unmade" ] || exit 0
hide
rm -f "$folder/image"
fallocate -l "$3" "$folder/image"
mkfs.xfs -q -f -K "$folder/image"
cat >"$folder/rules"
show
sync -f "$folder/image"
rm "$folder/unmade"
"""
# $3 bytes. Bytes that are added read as zeros.
GROW = f"""{OPEN}
now=$(stat -c %s "$folder/image")
if [ "$now" -lt "$3" ]; then
  begun=$([ -e "$folder/growing" ] && echo yes || echo no)
  : >"$folder/growing"
  # Only what is added: XFS wants as much free as a call names, also where the image has it already.
  if ! fallocate -o "$now" -l "$(($3 - now))" "$folder/image"; then
    truncate -s "$now" "$folder/image"
    [ $begun = yes ] || rm "$folder/growing"
    exit 1
  fi
fi
show
if [ -e "$folder/growing" ]; then
  losetup -c "$(findmnt -n -o SOURCE "$at")"
  xfs_growfs -d "$at" >/dev/null
  sync -f "$folder/image"
  rm "$folder/growing"
fi
"""
# Standard input: rules.
SET_RULES = f"""{OPEN}
cat >"$folder/rules.new"
mv "$folder/rules.new" "$folder/rules"
"""
# From here on it is not served, and never again.
CLOSE = f"""{OPEN}
if [ -e "$folder" ]; then : >"$folder/unmade"; fi
"""
# $3: how many bytes to overwrite at most. Bytes that were ever written are overwritten with zeros, from the image's end on, and cut off;
# those that never were are not on the device. Says "left" as long as some are.
# Sample of xfs_io 6.1: "DATA\t0", then "HOLE\t4096"; also of ext4.
WIPE = f"""{OPEN}
image=$folder/image
[ -e "$image" ] || exit 0
: >"$folder/unmade"
hide
sync "$image"
size=$(stat -c %s "$image")
parts=$(xfs_io -r -c "seek -a -r 0" "$image")
case $parts in Whence*) ;; *) echo "xfs_io does not say where $image has data" >&2 && exit 1 ;; esac
runs=$(printf '%s\\n' "$parts" | awk -v size="$size" -v most="$3" '
  function close_run() {{ if (to > from) {{ froms[++n] = from; tos[n] = to }} }}
  BEGIN {{ mib = 1048576; from = to = 0 }}
  $2 !~ /^[0-9]+$/ {{ next }}
  $1 == "DATA" {{ at = $2 - $2 % mib; if (at > to) {{ close_run(); from = at }} }}
  $1 == "HOLE" {{ to = $2 + (mib - $2 % mib) % mib; if (to > size) to = size }}
  END {{
    close_run()
    while (n > 0 && most > 0) {{
      at = tos[n] - froms[n] > most ? tos[n] - most : froms[n]
      printf "%.0f %.0f\\n", at, tos[n] - at
      most -= tos[n] - at
      if (at == froms[n]) n--
    }}
  }}')
at=0
if [ -n "$runs" ]; then
  printf '%s\\n' "$runs" | while read -r at n; do
    dd if=/dev/zero of="$image" bs=1M oflag=seek_bytes iflag=count_bytes seek="$at" count="$n" conv=notrunc status=none
  done
  sync "$image"
  at=${{runs##*
}}
  at=${{at% *}}
fi
truncate -s "$at" "$image"
[ "$at" = 0 ] || echo left
"""
REMOVE = f"""{OPEN}
if [ -e "$folder" ]; then : >"$folder/unmade"; fi
hide
rm -rf --one-file-system "$folder" "$1/$root/new-$2"
"""


@dataclass(frozen=True)
class Image:
    """A space as it is on a server.

    Attributes:
        space: its identity.
        device: of the server, where it is mounted.
        size_bytes: of its image; 0 without one.
        mounted: whether its file system is.
        state: whole; growing: its file system may be smaller than its image; unmade: it is being made or removed.
        label: what is called after it on the server; its identity, or the identity with the number of the device.
        rules: what the maker wrote.
    """

    space: str
    device: str
    size_bytes: int
    mounted: bool
    state: str
    label: str
    rules: str


def needs() -> Needs:
    """Programs of a server."""
    return Needs(
        {
            **dict.fromkeys(("mkfs.xfs", "xfs_growfs", "xfs_io"), "apt-get install xfsprogs"),
            "awk": "apt-get install mawk",
            **dict.fromkeys(("losetup", "fallocate", "flock"), "apt-get install util-linux"),
        }
    )


def problems_of(server: Host, needed: Needs, devices: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """What keeps spaces from being made on a server. Nothing of it is changed; loop devices are loaded where they are a module.

    Args:
        server: looked at.
        needed: programs.
        devices: folder and bytes that spaces are to have of it.

    Raises:
        ServiceError: it cannot be asked.
    """
    words = [str(len(needed.programs)), *needed.programs]
    words += [word for at, size in devices for word in (at, str(size))]
    said = do(server, "be looked at", LOOK, words, timeout_s=LOOK_TIMEOUT_S).stdout
    return tuple(_problem(line, needed) for line in said.splitlines())


def _problem(line: str, needed: Needs) -> str:
    kind, _, rest = line.partition(" ")
    if kind == "missing":
        return f"program {rest} is missing there ({needed.how(rest)})"
    if kind == "small":
        at, has, wanted = rest.rsplit(" ", 2)
        return f"{at} has {exact_size(int(has))}, and spaces are to have {exact_size(int(wanted))} of it"
    return rest


@dataclass(frozen=True)
class Images:
    """Spaces of one kind on servers; what is of another kind is not seen.

    Attributes:
        folder: below each device, that they have for themselves.
    """

    folder: str

    @property
    def mounts(self) -> str:
        """Where they are mounted on a server."""
        return f"/run/{self.folder}"

    def on(self, server: Host, devices: Iterable[str]) -> tuple[Image, ...]:
        """All spaces on the devices of a server.

        Raises:
            ServiceError: it cannot be asked, or a device is not mounted.
        """
        text = self._do(server, "look at its spaces", LIST, list(devices)).stdout
        return tuple(_image(line) for line in text.splitlines())

    def make(
        self,
        server: Host,
        device: str,
        space: str,
        size_bytes: int,
        rules: str,
        label: str | None = None,
    ) -> None:
        """Make a space of which nothing, or half, is there; ``label``: see Image, None: its identity."""
        words = [device, space, str(size_bytes), label or space]
        self._do(server, f"make {space}", MAKE, words, rules)

    def grow(self, server: Host, device: str, space: str, size_bytes: int) -> None:
        """Give it so many bytes, where it has fewer, while it is used; mount it where it is not."""
        self._do(server, f"grow {space}", GROW, [device, space, str(size_bytes)])

    def set_rules(self, server: Host, device: str, space: str, rules: str) -> None:
        """Write other rules, all at once."""
        self._do(server, f"write the rules of {space}", SET_RULES, [device, space], rules)

    def close(self, server: Host, device: str, space: str) -> None:
        """Mark it as one that goes."""
        self._do(server, f"close {space}", CLOSE, [device, space])

    def remove(self, server: Host, device: str, space: str) -> None:
        """Overwrite its data, and remove it and its folder. What was cut short goes on where it was."""
        words = [device, space, str(WIPED_AT_ONCE)]
        while self._do(server, f"overwrite {space}", WIPE, words).stdout:
            pass
        self._do(server, f"remove {space}", REMOVE, [device, space])

    def _do(
        self, server: Host, what: str, script: str, words: list[str], stdin: str = ""
    ) -> Finished:
        return do(
            server, what, script, words, stdin, env={"root": self.folder, "mounts": self.mounts}
        )


def _image(line: str) -> Image:
    _, space, device, size, mounted, state, label, rules = line.split("\t", 7)
    return Image(space, device, int(size), mounted == "mounted", state, label, rules)
