"""No global file system: each compute node has its own local disk, and no file is shared."""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.cluster.filesystems.base import FileSystemDriver, Site, mount_line, place_copies
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.filesystems.options import Table, all_option_problems
from wavetank.cluster.host import on_all
from wavetank.cluster.spec import ClusterSpec


class NoFileSystem(FileSystemDriver):
    """Files on the local file system of each compute node."""

    kind = "none"
    facts = Facts(
        title="local disks",
        is_global=False,
        has_servers=False,
        without_root=True,
        serves_each_device=True,  # files lie on the first one; the others are there for servers of spaces
        stripes=(),
        against_guests="file_system none is local disks, which no access method reaches: remove access",
        guest_modules=(),
    )

    def check(self, spec: ClusterSpec) -> list[str]:
        """Options have nobody to go to."""
        findings = list(all_option_problems(spec.file_system, Table("none"), Table("none")))
        if spec.layout != "striped":
            findings.append(
                "layout one-server-per-file needs data servers; file_system none has none: remove layout"
            )
        return findings

    def install(self, site: Site) -> None:
        """Nothing to start."""

    def mount(self, site: Site) -> None:
        """The local file system is mounted already."""

    def unmount(self, site: Site) -> None:
        """It stays mounted as long as the node lives."""

    def mount_path(self, site: Site) -> str:
        """The local file system."""
        return site.storage_path

    def settings(self, site: Site) -> dict[str, str]:
        """The local mounts."""
        lines = on_all(site.clients, lambda host: mount_line(host, site.storage_path))
        shown = {
            f"{host.name} {site.storage_path}": line or "not a mount"
            for host, line in zip(site.clients, lines, strict=True)
        }
        return {"file system": "none: local disk of each compute node, no shared files", **shown}

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """A copy on every compute node."""
        return place_copies(site.clients, site.storage_path, sizes, site.on_written)

    def health(self, site: Site) -> list[str]:
        """The local file systems need no daemon."""
        del site
        return []

    def remove(self, site: Site) -> None:
        """Nothing was installed."""
