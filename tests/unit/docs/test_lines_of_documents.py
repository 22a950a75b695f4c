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
    "docs/how-to/replay-a-kernel.md": 2,
    "docs/how-to/may-i-trust-the-kernel.md": 3,
    "docs/concepts/io-time.md": 2,
    "docs/reference/report.md": 1,
}
COPY_OF_AN_EXAMPLE = re.compile(r'cp -r "\$WAVETANK/(\S+)" \.')
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```|^((?: {4}\S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


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
    for name in ("replay", "app", "abyss", "dd"):
        shutil.copytree(folder / "run.trace", folder / f"{name}.trace")
    for name in ("nfs", "glusterfs-1", "glusterfs-2"):  # of clusters, which pages have from others
        shutil.copy(ROOT / f"examples/abyss/clusters/{name}.yaml", folder)
    (folder / "data").mkdir()
    for name in ("data/reads1.fastq", "app"):
        (folder / name).touch(0o755)
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
            if example := COPY_OF_AN_EXAMPLE.fullmatch(words):
                shutil.copytree(ROOT / example[1], tmp_path / Path(example[1]).name)
            ours = words.removeprefix("sudo ")
            name = ours.removeprefix("wavetank ")
            if name != ours and PERFORMED.match(name):
                if made := re.match(r"cluster init .*-o (\S+)", name):
                    (tmp_path / made[1]).unlink(missing_ok=True)  # it was given to other pages
                _perform(name, tmp_path)
                performed.append(name)
    assert len(performed) == LINES[page], performed
