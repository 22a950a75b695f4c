"""Command lines of documents are performed as they stand, in the order of their page, where they work on files alone.

What starts programs, clusters or a whole report is left out: tests of the tutorials and of the installed package perform that.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from wavetank.cli.main import cli

ROOT = Path(__file__).parents[3]
LOG = ROOT / "tests/data/darshan/ior_strided_shared_mpiio_coll_256k.darshan"
DFTRACER = ROOT / "tests/data/dftracer/python.pfw.gz"
RESULTS = ROOT / "docs/notebooks/memory-or-disk"  # a recorded campaign
# Commands that read and write files alone.
PERFORMED = re.compile(
    r"(model|kernel|fidelity|diff|convert|plot|cluster (init|check)|"
    r"campaign (export|check)|campaign run .*--dry-run)\b"
)
GIVEN_RESULTS = ("before", "after")  # of campaigns, by the names that pages have for them
# How many lines of a page are performed: none drops out unseen.
LINES = {
    "README.md": 3,
    "docs/start.md": 8,
    "docs/reference/kernel.md": 4,
    "docs/how-to/trace-my-application.md": 6,
    "docs/how-to/find-slower-storage.md": 4,
}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```|^((?: {4}\S.*\n)+)", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that pages take as given."""
    folder = tmp_path_factory.mktemp("given")
    shutil.copy(LOG, folder / "job.darshan")
    for words in (
        "convert job.darshan -o run.trace",
        "model run.trace -o app.model.json",
        "kernel app.model.json -o app.kernel.json",
    ):
        _perform(words, folder)
    for copy in ("abyss.model.json", "replay.model.json"):
        shutil.copy(folder / "app.model.json", folder / copy)
    shutil.copytree(folder / "run.trace", folder / "replay.trace")
    for name in GIVEN_RESULTS:
        shutil.copytree(RESULTS, folder / name)
    (folder / "scratch").mkdir()
    (folder / "logs").mkdir()
    shutil.copy(DFTRACER, folder / "logs")
    return folder


def _perform(words: str, folder: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(cli, shlex.split(words))
    judged = words.startswith(("diff", "campaign check"))  # 3: they differ, or cannot be told apart
    assert result.exit_code in ((0, 3) if judged else (0,)), (
        f"{words}: {result.output}\n{result.exception}"
    )
    return result.output


@pytest.mark.parametrize("page", LINES)
def test_lines_of_a_page_are_performed_as_they_stand(
    page: str, given: Path, tmp_path: Path
) -> None:
    shutil.copytree(given, tmp_path, dirs_exist_ok=True)
    performed = []
    for kind, fenced, indented in BLOCK.findall((ROOT / page).read_text()):
        text = (fenced or indented).replace("/scratch", str(tmp_path / "scratch"))
        if named := re.match(r"# ([\w.-]+\.yaml)\n", text):
            (tmp_path / named[1]).write_text(text)
        if kind in ("yaml", "console", "json", "python"):
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = line.strip().partition("#")[0].strip()
            name = words.removeprefix("wavetank ")
            if name != words and PERFORMED.match(name):
                _perform(name, tmp_path)
                performed.append(name)
    assert len(performed) == LINES[page], performed
