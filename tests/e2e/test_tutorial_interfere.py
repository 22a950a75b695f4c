"""The tutorial of two applications, its commands run as they stand, at small size."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tutorials import not_possible, script_of

from waiting import HANG_S
from wavetank import native
from wavetank.launchers.registry import launcher
from wavetank.model.document.model import Model

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorials" / "two-applications.md"
CLUSTERS = ROOT / "examples" / "interfere" / "clusters"
# Fewer bytes, shorter runs, fewer points: the text of the page or of a file that it takes, and what stands for it here.
SMALLER = {
    "count=48": "count=2",
    "count=256": "count=16",
    "duration: 5 s": "duration: 0.6 s",
    "[-1 s, 0 s, 0.5 s, 1 s, 2 s]": "[0.2 s]",
    "duration: 2.5 s": "duration: 0.4 s",
    "settle: 0.5 s": "settle: 0.1 s",
    "[0 s, 100 ms, 400 ms, 1 s, 2 s]": "[0 s, 100 ms]",
    "size: 2 MiB, file_size: 32 MiB": "size: 64 KiB, file_size: 512 KiB",
    "[clusters/nfs.yaml, clusters/glusterfs.yaml, clusters/gateway.yaml]": "[clusters/nfs.yaml]",
}


def missing() -> str | None:
    if not native.available("bin/wavetank-replay-openmpi"):
        return "the C parts are not built: make setup"
    if launcher("openmpi").available() is None:
        return "Open MPI is not installed"
    return not_possible(CLUSTERS, ("nfs", "glusterfs", "glusterfs-apart"))


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


def test_the_tutorial_of_two_applications_runs_as_it_stands(tmp_path: Path) -> None:
    script = script_of(TUTORIAL, 4)
    files = "".join(
        (ROOT / "examples/interfere" / name).read_text()
        for name in ("applications.yaml", "quick.yaml")
    )
    assert [text for text in SMALLER if text not in script + files] == []
    edits = "".join(f"s|{re.escape(text)}|{small}|;" for text, small in SMALLER.items())
    # The tutorial's clusters get names of their own, so that whatever else runs here is not disturbed.
    own = f"tut{os.getpid() % 1000}-"
    copied = 'cp -r "$WAVETANK/examples/interfere/." .\n'
    assert script.count(copied) == 1
    script = script.replace(
        copied,
        f"{copied}sed -i 's/^name: /name: {own}/' clusters/*.yaml\nsed -i '{edits}' *.yaml\n",
    )
    for text, small in SMALLER.items():
        if text.startswith("count"):
            script = script.replace(text, small)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=os.environ
        | {
            "WAVETANK": str(ROOT),
            "WAVETANK_STATE_DIR": str(tmp_path / "state"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=1.9 * HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "2 group(s) x 2 cluster(s)" in done.stdout
    (phase,) = Model.read(tmp_path / "writer.model.json").phases
    assert (phase.ph_weight, phase.ph_niop) == (2 * 2**20, 2)
    body = json.loads((tmp_path / "applications-results/comparison.json").read_text())
    study = body["interference"]
    assert {setting["cluster"] for setting in study["settings"]} == {
        f"{own}shared-glusterfs",
        f"{own}apart-glusterfs",
    }
    for page in ("report.html", "quick.html"):
        assert "What the groups do to each other" in (tmp_path / page).read_text()
    assert "Slowdown on GlusterFS" in (tmp_path / "report.html").read_text()
    assert list((tmp_path / "state").glob("clusters/*")) == []
