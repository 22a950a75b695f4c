"""What the benchmarks of this folder share: commands of wavetank, and the instances of their clusters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]


def wavetank(*argv: str | Path, cwd: Path, may_fail: bool = False) -> str:
    """Run a command of wavetank; its standard output. What it says on standard error is shown."""
    words = [*WAVETANK, *map(str, argv)]
    process = subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, text=True)
    try:
        stdout, _ = process.communicate()
    except BaseException:  # interrupted: it takes its clusters down
        process.terminate()
        process.communicate()
        raise
    if process.returncode and not may_fail:
        raise SystemExit(f"wavetank {argv[0]} failed")
    return stdout


def instance(disk_mb: int) -> dict[str, Any]:
    """Of every node: two processors, a network of 1 Gbit/s, and a disk of so many MB/s."""
    return {
        "name": "truth",
        "vcpus": 2,
        "memory": "1 GiB",  # MooseFS's master and a chunk server need 672 MiB
        "network": "1 Gbit/s",
        "disk_read": f"{disk_mb} MB/s",
        "disk_write": f"{disk_mb} MB/s",
    }
