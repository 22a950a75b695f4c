"""Disks of nodes: what a killed tool left at work."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from waiting import HANG_S
from wavetank.cluster.namespaces.disks import end_strays


def at_work(name: str, image: Path) -> subprocess.Popen[str]:
    """A program of a name, with an image among its words, that says when it runs."""
    code = "import time; print('runs', flush=True); time.sleep(100)"
    process = subprocess.Popen(
        [name, "-c", code, str(image)], executable=sys.executable, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    return process


def test_only_losetup_on_an_image_of_the_cluster_is_ended(tmp_path: Path) -> None:
    ours = at_work("/usr/sbin/losetup", tmp_path / "mine" / "images" / "io1.img")
    others = at_work("losetup", tmp_path / "mine-too" / "images" / "io1.img")
    reader = at_work("cat", tmp_path / "mine" / "images" / "io1.img")
    try:
        end_strays(tmp_path / "mine")
        assert ours.wait(timeout=HANG_S) == -9
        time.sleep(0.1)
        assert others.poll() is None
        assert reader.poll() is None
    finally:
        for process in (ours, others, reader):
            process.kill()
            process.communicate()
