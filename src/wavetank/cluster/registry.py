"""All providers and file systems by name, imported when asked for. Third parties add theirs by entry points."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from wavetank.errors import SpecError
from wavetank.nearest import did_you_mean

if TYPE_CHECKING:
    from wavetank.cluster.clouds.cloud import Cloud
    from wavetank.cluster.filesystems.base import FileSystemDriver
    from wavetank.cluster.providers.base import Provider

PROVIDERS: dict[str, str] = {
    "aws": "wavetank.cluster.providers.aws:AwsProvider",
    "local": "wavetank.cluster.providers.local:LocalProvider",
    "null": "wavetank.cluster.providers.null:NullProvider",
    "openstack": "wavetank.cluster.providers.openstack:OpenStackProvider",
    "ssh": "wavetank.cluster.providers.ssh:SshProvider",
    "vm": "wavetank.cluster.providers.vm:VmProvider",
}
FILE_SYSTEMS: dict[str, str] = {
    "cephfs": "wavetank.cluster.filesystems.cephfs.driver:CephFS",
    "efs": "wavetank.cluster.filesystems.efs.driver:EFS",
    "existing": "wavetank.cluster.filesystems.existing.driver:Existing",
    "fsx-lustre": "wavetank.cluster.filesystems.fsx_lustre.driver:FsxLustre",
    "gateway": "wavetank.cluster.filesystems.gateway.driver:Gateway",
    "glusterfs": "wavetank.cluster.filesystems.glusterfs.driver:GlusterFS",
    "lustre": "wavetank.cluster.filesystems.lustre.driver:Lustre",
    "manila-share": "wavetank.cluster.filesystems.manila_share.driver:ManilaShare",
    "moosefs": "wavetank.cluster.filesystems.moosefs.driver:MooseFS",
    "nfs": "wavetank.cluster.filesystems.nfs.driver:NFS",
    "none": "wavetank.cluster.filesystems.none.driver:NoFileSystem",
    "orangefs": "wavetank.cluster.filesystems.orangefs.driver:OrangeFS",
}
TITLES: dict[str, str] = {
    "cephfs": "CephFS",
    "efs": "EFS",
    "fsx-lustre": "FSx for Lustre",
    "glusterfs": "GlusterFS",
    "lustre": "Lustre",
    "manila-share": "Manila share",
    "moosefs": "MooseFS",
    "nfs": "NFS",
    "none": "local disks",
    "orangefs": "OrangeFS",
}
"""File systems as their projects write them, where that is not their kind."""
CLOUDS: dict[str, str] = {
    "aws": "wavetank.cluster.clouds.aws.cloud:AwsCloud",
    "openstack": "wavetank.cluster.clouds.openstack.cloud:OpenStackCloud",
}
"""Clouds by the provider of their instances; each needs an optional dependency of wavetank."""
PROVIDER_GROUP = "wavetank.providers"
FILE_SYSTEM_GROUP = "wavetank.file_systems"


def provider(name: str) -> Provider:
    """A provider by its name.

    Raises:
        SpecError: there is none of this name.
    """
    return cast("Provider", _load("provider", name, PROVIDERS, PROVIDER_GROUP))


def file_system(kind: str) -> FileSystemDriver:
    """A file system's driver by its name.

    Raises:
        SpecError: there is none of this name.
    """
    return cast("FileSystemDriver", _load("file system", kind, FILE_SYSTEMS, FILE_SYSTEM_GROUP))


def cloud(name: str, region: str | None) -> Cloud:
    """A cloud by its provider's name, in a region, or in that of the user's own settings.

    Raises:
        SpecError: there is none of this name, or its library is not installed.
        ProviderError: it cannot be used as it is set up here.
    """
    if name not in CLOUDS:
        raise SpecError(f"no cloud is called {name!r}; there are {', '.join(CLOUDS)}")
    module, _, attribute = CLOUDS[name].partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("wavetank"):
            raise
        raise SpecError(
            f"provider {name} needs {error.name}: pip install 'wavetank[{name}]'"
        ) from error
    return cast("Cloud", getattr(found, attribute)(region))


def _load(what: str, name: str, known: dict[str, str], group: str) -> object:
    if name in known:
        module, _, attribute = known[name].partition(":")
        return getattr(importlib.import_module(module), attribute)()
    for entry in entry_points(group=group):
        if entry.name == name:
            return entry.load()()
    others = sorted([*known, *(entry.name for entry in entry_points(group=group))])
    raise SpecError(
        f"no {what} is called {name!r}; there are {', '.join(others)}.{did_you_mean(name, others)}"
    )
