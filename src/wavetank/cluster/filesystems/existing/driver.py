"""A file system that is mounted already: a site's Lustre, GPFS, BeeGFS, FSx, or any directory. Nothing is served here.

Works in a directory of the cluster's own below ``file_system.path``, made at the start and deleted at the end.
On Lustre, stripes are set by ``lfs``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from wavetank.cluster.components import MAKES_NODES, OptionValue
from wavetank.cluster.filesystems.base import (
    ANSWER_TIMEOUT_S,
    FileSystemDriver,
    Site,
    write_content,
)
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.filesystems.lustre_client import stripes
from wavetank.cluster.filesystems.options import Table, Value, option_problems
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError

# Only a directory with this file in it, written by us for this very cluster, is ever deleted.
MARKER = ".wavetank-cluster"
LUSTRE = "lustre"  # as stat(1) calls it, coreutils 9.1
# As lfs-setstripe(1) takes them.
LUSTRE_OPTIONS = Table("existing", {
    "stripe_count": Value("-1|[0-9]{1,5}", "a number, or -1 for all OSTs"),
    "stripe_size": Value("[0-9]{1,10}[KMGkmg]?", "a size as 4M"),
}, family_words="on Lustre alone")  # fmt: skip


class Existing(FileSystemDriver):
    """A directory of a mounted file system."""

    kind = "existing"
    facts = Facts(
        title="existing {path}",
        keys=frozenset({"path"}),
        has_servers=False,
        on_this_machine=False,
        outlives_nodes=True,
        stripes=(),
        guest_methods=(),
        against_guests='file_system existing is this machine\'s, and guests must not write to it: use provider "null"',
        guest_modules=(),
        lacking_on_images=(
            "has nothing mounted at file_system.path {path}: take an image of your own (ami-...) that mounts it as it starts, or a "
            "kind that is made with the cluster, as nfs, efs or fsx-lustre"
        ),
    )

    def check(self, spec: ClusterSpec) -> list[str]:
        """The directory, and options that nobody would read."""
        return list(_problems(spec))

    def install(self, site: Site) -> None:
        """Make the cluster's directory; on Lustre, with the stripes that were asked for."""
        host, directory = site.clients[0], self.mount_path(site)
        try:
            host.run(["mkdir", "-m", "755", "--", directory])
        except RemoteCommandError as error:
            raise FileSystemError(
                f"cannot make {directory}: {error.stderr_tail}. Another cluster's? Look, and delete it"
            ) from error
        host.run(["dd", f"of={directory}/{MARKER}", "status=none"], stdin=_marker(site))
        options = site.spec.file_system.options
        if options:
            asked = stripes.Stripes(
                count=_written(options.get("stripe_count")),
                size=_written(options.get("stripe_size")),
            )
            stripes.set_stripes(host, directory, asked)

    def mount_path(self, site: Site) -> str:
        """The cluster's directory."""
        return f"{site.spec.file_system.path}/wavetank-{site.spec.name}"

    def mount(self, site: Site) -> None:
        """See that every client has the directory."""
        for host in site.clients:
            found = host.run(["cat", f"{self.mount_path(site)}/{MARKER}"]).stdout
            if found != _marker(site):
                raise FileSystemError(
                    f"{host.name} sees another {site.spec.file_system.path} than {site.clients[0].name}: is it mounted there?"
                )

    def unmount(self, site: Site) -> None:
        """The mount is not ours."""

    def settings(self, site: Site) -> dict[str, str]:
        """The mount's line and type as the system has them; on Lustre, the stripes."""
        host, directory = site.clients[0], self.mount_path(site)
        kind = _type(host, directory)
        line = host.run(
            ["findmnt", "-n", "-o", "SOURCE,TARGET,FSTYPE,OPTIONS", "-T", directory]
        ).stdout
        found = {"file system": f"existing: {kind}", "mount": " ".join(line.split())}
        if kind == LUSTRE:
            found["lfs getstripe -d"] = stripes.stripes_of_directory(host, directory)
        return found

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write the files; on Lustre with layout one-server-per-file, each on an OST of its own."""
        host, directory = site.clients[0], self.mount_path(site)
        if _type(host, directory) == LUSTRE:
            own_ost = site.spec.layout == "one-server-per-file"
            return stripes.place_files(
                host, directory, sizes, own_ost=own_ost, on_written=site.on_written
            )
        places = {}
        for path, size in sizes.items():
            write_content(host, f"{directory}/{path}", size, site.on_written)
            places[path] = _type(host, f"{directory}/{path}")
        return places

    def drop_server_caches(self, site: Site) -> str:
        """Release the locks of Lustre's clients, and all that they cache under these; servers of a site keep their caches."""
        if _type(site.clients[0], self.mount_path(site)) != LUSTRE:
            return "caches of its servers stay"
        said = on_all(site.clients, stripes.give_back)
        return "; ".join([*said, "caches of its servers stay"])

    def health(self, site: Site) -> list[str]:
        """Clients that do not see the directory any more."""
        findings = []
        for host in site.clients:
            try:
                host.run(["cat", f"{self.mount_path(site)}/{MARKER}"], timeout_s=ANSWER_TIMEOUT_S)
            except RemoteCommandError as error:
                findings.append(str(error))
        return findings

    def remove(self, site: Site) -> None:
        """Delete the cluster's directory, if it is the one that was made for it."""
        host, directory = site.clients[0], self.mount_path(site)
        try:
            found = host.run(["cat", "--", f"{directory}/{MARKER}"]).stdout
        except RemoteCommandError:
            return  # never made, or another's
        if found == _marker(site):
            host.run(["rm", "-rf", "--one-file-system", "--", directory], timeout_s=600)


def _problems(spec: ClusterSpec) -> Iterator[str]:
    fs = spec.file_system
    if spec.provider in MAKES_NODES:
        yield f'file_system existing is this machine\'s: nodes of provider {spec.provider} must not write to it. Use provider "null"'
    if fs.path is None:
        yield "file_system existing needs file_system.path: a directory of the mounted file system"
        return
    if spec.ssh is None and not Path(fs.path).is_dir():
        yield f"file_system.path {fs.path} is no directory: mount it, or name another one"
    elif spec.ssh is None and not os.access(fs.path, os.W_OK):
        yield f"file_system.path {fs.path} is not writable for you: name a directory of your own below it"
    yield from option_problems("mount_options", fs.mount_options, Table("existing"))
    yield from option_problems("options", fs.options, LUSTRE_OPTIONS)


def _written(value: OptionValue | None) -> str | None:
    return None if value is None else str(value)


def _marker(site: Site) -> str:
    return f"{site.spec.name} {site.spec.sha256()} {site.storage_path}\n"


def _type(host: Host, path: str) -> str:
    """Type of the file system of a path, e.g. ext2/ext3, lustre, gpfs (coreutils 9.1)."""
    return host.run(["stat", "-f", "-c", "%T", "--", path]).stdout.strip()
