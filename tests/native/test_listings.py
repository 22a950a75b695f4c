"""What directories hold that programs list, from the trace to the kernel."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from names_run import wavetank
from tracer_run import need

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model
from wavetank.model.document.program import IrregularOrderStep, RepeatStep

# A collector of logs: it lists a folder again and again, and looks at each log on the way.
COLLECT = """
import os
for _ in range(9):
    with os.scandir("logs") as entries:
        for entry in entries:
            if entry.name.endswith(".log"):
                os.stat(entry.path)
"""


def test_a_folder_that_is_listed_again_and_again_has_its_entries_once(tmp_path: Path) -> None:
    need("libwavetank-trace.so")
    kinds = random.Random(3).choices([".log", ".dat"], k=2000)
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, kind in enumerate(kinds):
        (folder / f"{number}{kind}").touch()
    wavetank(
        "trace", "-o", "run.trace", "--", sys.executable, "-S", "-E", "-c", COLLECT, cwd=tmp_path
    )
    wavetank("model", "run.trace", "--each-file", "-o", "model.json", cwd=tmp_path)
    wavetank("kernel", "model.json", "-o", "kernel.json", cwd=tmp_path)
    (loop,) = Model.read(tmp_path / "model.json").programs[0].steps
    assert isinstance(loop, RepeatStep) and any(
        isinstance(step, IrregularOrderStep) for step in loop.steps
    )
    entries = {file.name: file.entries for file in Kernel.read(tmp_path / "kernel.json").files}
    assert entries["logs"] == kinds.count(".dat")
