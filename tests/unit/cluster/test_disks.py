"""Disks of nodes: what a killed tool left at work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from waiting import HANG_S
from wavetank.cluster.namespaces.disks import command, end_strays


def at_work(name: str, image: Path) -> subprocess.Popen[str]:
    """A program of a name, with an image among its words, that answers while it lives."""
    code = "while True: print(input(), flush=True)"
    process = subprocess.Popen(
        [name, "-c", code, str(image)], executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert answers(process)
    return process


def answers(process: subprocess.Popen[str]) -> bool:
    """Whether it lives: one that was killed, and is not dead yet, says nothing any more."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("there?\n")
    process.stdin.flush()
    return process.stdout.readline() == "there?\n"


def test_only_losetup_on_an_image_of_the_cluster_is_ended(tmp_path: Path) -> None:
    ours = at_work("/usr/sbin/losetup", tmp_path / "mine" / "images" / "io1.img")
    others = at_work("losetup", tmp_path / "mine-too" / "images" / "io1.img")
    reader = at_work("cat", tmp_path / "mine" / "images" / "io1.img")
    try:
        end_strays(tmp_path / "mine")
        assert ours.wait(timeout=HANG_S) == -9
        assert answers(others)
        assert answers(reader)
    finally:
        for process in (ours, others, reader):
            process.kill()
            process.communicate()


def test_a_program_that_an_interrupt_met_at_its_start_is_run_again(tmp_path):
    """Ctrl-C twice, the second time just as the clean-up forks: it must go on."""
    met = tmp_path / "met"
    script = f"[ -e {met} ] && echo done || {{ touch {met}; kill -INT $$; }}"
    assert command(["sh", "-c", script]) == "done\n"
