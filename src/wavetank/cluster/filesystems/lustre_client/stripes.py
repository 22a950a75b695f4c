"""Stripes of Lustre by ``lfs``, set for directories and new files and read back, and the locks of clients, under which they cache.

An OST is what holds data; a file is spread over ``count`` of them in blocks of ``size`` bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from wavetank.cluster.filesystems.base import unheard, write_content
from wavetank.cluster.host import NOT_EMPTIED, Host
from wavetank.errors import FileSystemError, RemoteCommandError

TIMEOUT_S = 120.0  # dirty pages are written first


def give_back(host: Host, fsname: str = "*") -> str:
    """Release the locks of a client; takes root. Says how it went.

    Namespaces of clients are ``FSNAME-OST0000-osc-ffff...`` and ``FSNAME-MDT0000-mdc-ffff...``; those of servers on the same host begin
    with ``filter-`` and ``mdt-`` (Lustre 2.15.5, ldlm/ldlm_resource.c), and are left alone.

    Args:
        host: the client.
        fsname: of one file system; "*" of all.
    """
    try:
        for kind in ("mdc", "osc"):
            name = f"ldlm.namespaces.{fsname}-*-{kind}-*.lru_size=clear"
            host.run(["lctl", "set_param", "-n", name], timeout_s=TIMEOUT_S)
    except RemoteCommandError as error:
        return f"{host.name}: caches of Lustre {NOT_EMPTIED} ({error.stderr_tail or error})"
    return f"{host.name}: locks of Lustre given back"


ALL = -1  # lfs-setstripe(1): a stripe on every OST
SMALLEST_BYTES = 64 * 2**10  # lfs-setstripe(1): sizes are multiples of it
LARGEST_BYTES = 2**32 - SMALLEST_BYTES  # a size is 32 bits (struct lov_user_md)


@dataclass(frozen=True)
class Stripes:
    """What is asked for; what is None is as the directory, or the file system, has it.

    Attributes:
        count: OSTs of a file; ALL for all.
        size: of a block: bytes, or as lfs-setstripe(1) takes it.
        pool: that the OSTs are of.
        first: index of the OST with the first block.
    """

    count: int | str | None = None
    size: int | str | None = None
    pool: str | None = None
    first: int | None = None

    def words(self) -> list[str]:
        """Of lfs-setstripe(1)."""
        asked = (("-c", self.count), ("-S", self.size), ("-i", self.first), ("-p", self.pool))
        return [word for key, value in asked if value is not None for word in (key, str(value))]


def set_stripes(host: Host, path: str, stripes: Stripes) -> None:
    """Of a directory, for new files in it; else a new, empty file is made with them."""
    host.run(["lfs", "setstripe", *stripes.words(), path])


def stripes_of_directory(host: Host, path: str) -> str:
    """What new files in it get, in lfs' own words."""
    return " ".join(host.run(["lfs", "getstripe", "-d", path]).stdout.split())


def active_osts(host: Host, path: str, among: Collection[int] | None = None) -> list[int]:
    """Indices of the OSTs that take new files.

    Args:
        host: a client.
        path: on the file system.
        among: indices that are looked for; None: all.

    Raises:
        FileSystemError: there is none.
    """
    active = read_targets(host.run(["lfs", "osts", path]).stdout)
    found = [index for index in active if among is None or index in among]
    if not found:
        raise FileSystemError(f"'lfs osts {path}' on {host.name} names no active OST")
    return found


def read_targets(text: str) -> list[int]:
    """Indices of the active targets that ``lfs osts`` or ``lfs mdts`` names.

    Sample (2.15.5, utils/liblustreapi.c and lov/lov_obd.c): ``OBDS:``, ``0: lustre-OST0000_UUID ACTIVE``.
    """
    return [int(index) for index in re.findall(r"^(\d+): \S+ ACTIVE$", text, re.MULTILINE)]


def where(host: Host, path: str) -> str:
    """On which OSTs a file is, as it is read back."""
    return read_layout(host.run(["lfs", "getstripe", "-y", path]).stdout)


def read_layout(text: str) -> str:
    """Where a file is, of what ``lfs getstripe -y`` says; of something unknown its own words.

    Sample (2.15.5, utils/liblustreapi.c): ``lmm_stripe_count:  1``, ``lmm_stripe_size:   1048576``, ``lmm_pattern:       raid0``,
    ``lmm_stripe_offset: 1``, ``lmm_objects:``, ``      - l_ost_idx: 1``, ``        l_fid:     0x100010000:0x2:0x0``.
    A file of several components has a list of these.
    """
    osts = re.findall(r"l_ost_idx:\s+(\d+)", text)
    sizes = dict.fromkeys(re.findall(r"lmm_stripe_size:\s+(\d+)", text))
    if not osts or not sizes:
        return " ".join(text.split())
    number = "OST" if len(osts) == 1 else "OSTs"
    return f"{number} {', '.join(osts)} in blocks of {' and '.join(sizes)} bytes"


def place_files(
    host: Host,
    directory: str,
    sizes: Mapping[str, int],
    *,
    own_ost: bool,
    among: Collection[int] | None = None,
    on_written: Callable[[int], None] = unheard,
) -> dict[str, str]:
    """Write files with content; says where each is, as read back.

    Args:
        host: a client.
        directory: that paths of ``sizes`` are in.
        sizes: bytes of each file.
        own_ost: each whole on an OST of its own (1DFx1F), in turn where files are more than OSTs; else by the directory.
        among: indices of the OSTs that may be taken for that, which are those of the directory's pool; None: all.
        on_written: is told the bytes of each part of a file once that is on disk.

    Raises:
        FileSystemError: no OST takes files.
    """
    osts = active_osts(host, directory, among) if own_ost else []
    places = {}
    for position, (path, size) in enumerate(sizes.items()):
        file = f"{directory}/{path}"
        if own_ost:
            host.run(["mkdir", "-p", "--", file.rpartition("/")[0]])
            host.run(["rm", "-f", "--", file])  # stripes are of new files only
            set_stripes(host, file, Stripes(count=1, first=osts[position % len(osts)]))
        write_content(host, file, size, on_written)
        places[path] = where(host, file)
    return places
