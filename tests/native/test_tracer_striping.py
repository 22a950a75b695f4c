"""The striping of files on Lustre is read when they are opened. A small FUSE file system stands for Lustre."""

import os
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from tracer_run import compile_c, need, run_traced

from waiting import HANG_S, until
from wavetank.trace.index import TraceIndex
from wavetank.trace.schema import Striping

MIB = 1 << 20
LAYOUT = struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 9, 0, 4 * MIB, 2, 0) + b"".join(
    struct.pack("<QQII", 7, 0, 0, ost) for ost in (3, 1)
)


def test_the_striping_of_a_file_is_in_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so", "gcc", "pkg-config", "fusermount3")
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        pytest.skip("does not apply: no FUSE for this user")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, timeout=HANG_S, check=True
    ).stdout  # fmt: skip
    server = compile_c("striped_fs.c", tmp_path / "striped_fs", *shlex.split(flags))
    (tmp_path / "layout").write_bytes(LAYOUT)
    mount = tmp_path / "lustre"
    mount.mkdir()
    with subprocess.Popen(
        [str(server), str(mount), "-f", "-o", "subtype=lustre"],
        env={**os.environ, "STRIPED_FS_LAYOUT": str(tmp_path / "layout")},
    ) as process:
        try:
            until(lambda: mount.is_mount() or process.poll() is not None, "the mount")
            assert process.poll() is None
            script = f"open({str(mount / 'striped')!r}, 'rb').read()"
            trace = run_traced([sys.executable, "-c", script], tmp_path, monkeypatch)
        finally:
            subprocess.run(["fusermount3", "-u", str(mount)], timeout=HANG_S, check=False)
            process.wait(HANG_S)
    (file,) = trace.files
    assert (file.mount_point, file.file_system) == (str(mount), "fuse.lustre")
    assert file.striping == (Striping(4 * MIB, 2, None, (3, 1)),)
    index = TraceIndex.read(tmp_path / "run.trace" / "index.json")
    assert index.files[0].striping[0].osts == (3, 1)
