"""Which paths are data: the tracer's default rule (native/tracer/files/filter.c) for importers; and which are stored files at all."""

from __future__ import annotations

_SYSTEM = (
    "/proc/",
    "/sys/",
    "/dev/",
    "/etc/",
    "/usr/",
    "/lib/",
    "/lib64/",
    "/bin/",
    "/sbin/",
    "/run/",
    "/boot/",
)
_CODE_SUFFIXES = (".py", ".pyc", ".pyi", ".pth", ".so", ".sh", ".bash", ".egg-link", "/pyvenv.cfg")
_CODE_PARTS = (
    "/site-packages/", "/dist-packages/", "/lib/python3", ".so.", "/openmpi-sessions-", "/ompi.", ".locktest.",
    ".shfp.", "/spmix_appdir_", "/pmix_dstor_", "/prte.", "/prterun.", "/pmix-gds-", "/__pycache__/",
)  # fmt: skip


def is_kept(path: str) -> bool:
    """False for the system's own files, programs' code, and files that MPI libraries make for themselves."""
    return not (
        path.startswith(_SYSTEM)
        or path.endswith(_CODE_SUFFIXES)
        or any(part in path for part in _CODE_PARTS)
    )


_NOT_STORAGE = (
    "/proc/",
    "/sys/",
    "/dev/",
    "<STD",
)  # the last: Darshan's <STDIN>, <STDOUT>, <STDERR>
_IN_MEMORY = "/dev/shm/"  # noqa: S108 (a traced application's path, not ours)


def is_stored(path: str) -> bool:
    """Whether a traced path is a file that a storage system would hold."""
    return not path.startswith(_NOT_STORAGE) or path.startswith(_IN_MEMORY)
