"""What any file system's options may be: nothing that writes configuration of its own, and nothing that nobody reads."""

from __future__ import annotations

import pytest

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.cephfs import options
from wavetank.cluster.filesystems.cephfs import options as cephfs
from wavetank.cluster.filesystems.existing import driver as existing
from wavetank.cluster.filesystems.glusterfs import options as glusterfs
from wavetank.cluster.filesystems.lustre import options as lustre
from wavetank.cluster.filesystems.moosefs import options as moosefs
from wavetank.cluster.filesystems.nfs_export import ganesha, nfs_mount
from wavetank.cluster.filesystems.options import Table
from wavetank.cluster.filesystems.orangefs import config as orangefs

NFS = {*ganesha.SERVER_OPTIONS, *ganesha.VALUES, *nfs_mount.KERNEL_OPTIONS, *nfs_mount.FUSE_OPTIONS}
TABLES = [
    cephfs.OPTIONS, cephfs.FUSE_MOUNT_OPTIONS, options.KERNEL_MOUNT_OPTIONS, existing.LUSTRE_OPTIONS, glusterfs.OPTIONS,
    glusterfs.MOUNT_OPTIONS, lustre.OPTION_TABLE, lustre.MOUNT_OPTIONS, moosefs.OPTIONS, moosefs.MOUNT_OPTIONS,
    orangefs.OPTION_TABLE, orangefs.MOUNT_OPTIONS, ganesha.nfs_options(NFS),
]  # fmt: skip
OF_FAMILIES = (
    "layout",
    "osd.osd_op_threads",
    "client_oc_size",
    "performance.io-cache",
    "master.ATIME_MODE",
)


@pytest.mark.parametrize(
    "value", ["1\n[x]", "on; reboot", "$(reboot)", "/etc/passwd;", "1,exec\n", "", "a\nb"]
)
@pytest.mark.parametrize("table", TABLES, ids=[f"{table.of}-{i}" for i, table in enumerate(TABLES)])
def test_no_value_writes_configuration_of_its_own(table: Table, value: str) -> None:
    names = [*table.values, *(name for name in OF_FAMILIES if table.families)]
    harmless = {"layout"} if value == "" else set()  # no layout is Ceph's default
    assert names
    assert all(table.problem(name, value) for name in names if name not in harmless)


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        (cephfs.OPTIONS, "osds_per_server", 8),
        (cephfs.OPTIONS, "pg_num", 256),
        (cephfs.OPTIONS, "layout:a/b.txt", "stripe_count=2"),
        (glusterfs.OPTIONS, "performance.open-behind", False),
        (glusterfs.MOUNT_OPTIONS, "fopen-keep-cache", True),
        (glusterfs.MOUNT_OPTIONS, "fopen-keep-cache", "yes"),
        (moosefs.OPTIONS, "master.ATIME_MODE", True),
        (orangefs.OPTION_TABLE, "TroveSyncMeta", True),
        (lustre.OPTION_TABLE, "osc.checksums", 0),
        (ganesha.nfs_options(NFS), "timeout", 0.5),
        (ganesha.nfs_options(NFS), "version", 4.1),
        (ganesha.nfs_options(NFS), "clients", "10.0.0.0/24, 10.1.0.7"),
    ],
)
def test_what_there_is_passes(table: Table, name: str, value: OptionValue) -> None:
    assert table.problem(name, value) is None


@pytest.mark.parametrize(
    ("table", "name", "value", "said"),
    [
        (cephfs.OPTIONS, "pg_num", 257, "write 1 to 256"),
        (cephfs.OPTIONS, "pg_num", True, "write 1 to 256"),
        (cephfs.OPTIONS, "layout:a/../b", "", "has no such option here"),
        (cephfs.OPTIONS, "layout:/etc/", "", "has no such option here"),
        (cephfs.OPTIONS, "layout", "stripe_unit=100KiB", "no multiple of 64 KiB"),
        (cephfs.OPTIONS, "osd.osd_data", "x", "names a file"),
        (moosefs.OPTIONS, "master.DATA_PATH", "x", "names a file"),
        (glusterfs.OPTIONS, "features.shard", True, "write it as file_system.stripe"),
        (moosefs.MOUNT_OPTIONS, "noatime", 1, "write true or false"),
        (ganesha.nfs_options(NFS), "threads", -5, "write a whole number"),
        (ganesha.nfs_options(NFS), "threads", True, "write a whole number"),
        (ganesha.nfs_options(NFS), "clients", "10.0.0.0/24,x", "'x' is no address"),
        (Table("none"), "a", 1, "none has no such options: remove it"),
    ],
)
def test_what_there_is_not_is_refused_with_what_to_write(
    table: Table, name: str, value: OptionValue, said: str
) -> None:
    assert said in (table.problem(name, value) or "")
