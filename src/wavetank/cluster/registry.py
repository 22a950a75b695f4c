"""All providers and file systems by name, imported when asked for. Third parties add theirs by entry points."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from wavetank.cluster.filesystems.facts import UNKNOWN, Facts
from wavetank.errors import SpecError
from wavetank.registered import load_registered, registered_names

if TYPE_CHECKING:
    from wavetank.cluster.clouds.cloud import Cloud
    from wavetank.cluster.filesystems.base import FileSystemDriver
    from wavetank.cluster.providers.base import Provider

PROVIDERS: dict[str, str] = {
    "aws": "wavetank.cluster.clouds.provider:AwsProvider",
    "local": "wavetank.cluster.namespaces.provider:NamespaceProvider",
    "null": "wavetank.cluster.providers.null:NullProvider",
    "openstack": "wavetank.cluster.clouds.provider:OpenStackProvider",
    "ssh": "wavetank.cluster.providers.ssh:SshProvider",
    "vm": "wavetank.cluster.providers.vm:VmProvider",
}
FILE_SYSTEMS: dict[str, str] = {
    "nfs": "wavetank.cluster.filesystems.nfs.driver:NFS",
    "glusterfs": "wavetank.cluster.filesystems.glusterfs.driver:GlusterFS",
    "cephfs": "wavetank.cluster.filesystems.cephfs.driver:CephFS",
    "moosefs": "wavetank.cluster.filesystems.moosefs.driver:MooseFS",
    "orangefs": "wavetank.cluster.filesystems.orangefs.driver:OrangeFS",
    "gateway": "wavetank.cluster.filesystems.gateway.driver:Gateway",
    "lustre": "wavetank.cluster.filesystems.lustre.driver:Lustre",
    "existing": "wavetank.cluster.filesystems.existing.driver:Existing",
    "none": "wavetank.cluster.filesystems.none.driver:NoFileSystem",
    "efs": "wavetank.cluster.filesystems.efs.driver:EFS",
    "fsx-lustre": "wavetank.cluster.filesystems.fsx_lustre.driver:FsxLustre",
    "manila-share": "wavetank.cluster.filesystems.manila_share.driver:ManilaShare",
}
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
    made = load_registered("provider", name, PROVIDERS, PROVIDER_GROUP, SpecError)
    return cast("type[Provider]", made)()


def file_system(kind: str) -> FileSystemDriver:
    """A file system's driver by its name.

    Raises:
        SpecError: there is none of this name, or it cannot be loaded.
    """
    made = load_registered("file system", kind, FILE_SYSTEMS, FILE_SYSTEM_GROUP, SpecError)
    return cast("type[FileSystemDriver]", made)()


def facts(kind: str) -> Facts:
    """What is known of a kind of file system, by its driver; of a kind without one, nothing that refuses anything."""
    if kind not in _FACTS:
        try:
            found = getattr(file_system(kind), "facts", UNKNOWN)
        except SpecError:
            return UNKNOWN
        _FACTS[kind] = found
    return _FACTS[kind]


_FACTS: dict[str, Facts] = {}


def file_system_kinds(test: Callable[[Facts], bool] = lambda facts: True) -> list[str]:
    """Names of all file systems whose facts pass a test, ours first."""
    return [kind for kind in registered_names(FILE_SYSTEMS, FILE_SYSTEM_GROUP) if test(facts(kind))]


def file_system_title(kind: str) -> str:
    """A kind of file system as its project writes it."""
    return facts(kind).title or kind


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
