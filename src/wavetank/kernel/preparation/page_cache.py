"""Emptying the page cache of a kernel's files on this machine; needs no root."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from wavetank.kernel.document.kernel import Kernel

_PAGE = mmap.PAGESIZE


def drop_cached(kernel: Kernel, root: Path) -> str:
    """Drop the cached pages of the kernel's files; says how, and how much is still cached.

    Pages that are being written or mapped elsewhere stay; so do all on a file system in memory.
    """
    pages, left = 0, 0
    for path in (root / name for file in kernel.files for name, _ in file.stored()):
        if not path.is_file():
            continue
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            n, cached = cached_pages(fd)
        finally:
            os.close(fd)
        pages += n
        left += cached
    if pages == 0:
        return "nothing to drop: no file is there before the run"
    state = "cold" if left * 100 <= pages else "not cold"
    return f"{state}: posix_fadvise(DONTNEED) on each file, {left} of {pages} pages still cached"


def cached_pages(fd: int) -> tuple[int, int]:
    """Pages of a file, and how many of them are in the page cache (mincore)."""
    size = os.fstat(fd).st_size
    if size == 0:
        return 0, 0
    n = -(-size // _PAGE)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        return n, n  # cannot tell: say that all may be cached
    try:
        resident = (ctypes.c_ubyte * n)()
        failed = libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), resident)
        return n, n if failed else sum(byte & 1 for byte in bytes(resident))
    finally:
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
