"""One test a page: its links lead somewhere, what it names is there, and its shell lines run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from wavetank.cli.main import cli

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$|^((?: {4}\S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```[\s\S]*?^```$|`[^`\n]+`|^ {4}\S[^\n]*(?:\\\n[^\n]*)*$", re.MULTILINE)
COMMAND = re.compile(r"(?:^|[\s`$(])(?:sudo )?wavetank ((?:[a-z]|--help)[^`\n]*(?:\\\n[^`\n]*)*)")
# Commands that read and write files alone. Others start programs or clusters, which tests of the tutorials do.
ON_FILES = re.compile(
    r"(model|kernel|fidelity|diff|convert|summary|cluster (init|check)|"
    r"export|check|run .*--dry-run)\b"
)
# Pages whose lines work with the files of ``given``.
PERFORMED = {
    "README.md", "docs/start.md", "docs/reference/kernel.md", "docs/how-to/trace-my-application.md",
    "docs/how-to/find-slower-storage.md", "docs/how-to/replay-a-kernel.md", "docs/how-to/may-i-trust-the-kernel.md",
    "docs/concepts/io-time.md", "docs/reference/report.md",
}  # fmt: skip
COPY_OF_AN_EXAMPLE = re.compile(r'cp -r "\$WAVETANK/(\S+)" \.')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_and_shell_lines_run(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = page.read_text()
    assert list(broken_links(page, text)) == []
    assert [wrong for words in commands_in(text) if (wrong := mistake_in(words))] == []
    assert missing_tests(text) == set()
    if str(page.relative_to(ROOT)) in PERFORMED:
        shutil.copytree(request.getfixturevalue("given"), tmp_path, dirs_exist_ok=True)
        assert perform_lines(text, tmp_path) > 0


def test_mistakes_are_found() -> None:
    shown = "    wavetank trace -o a -- ls --no-such\n    sudo wavetank kernell a.json\n`wavetank summary a --colour red`\n"
    found = [mistake_in(words) for words in commands_in(shown)]
    assert found == [None, "no command kernell", "wavetank summary has no option --colour"]
    links = "[a](no.md) [b](docs/README.md#no) [c](docs)"
    assert list(broken_links(ROOT / "README.md", links)) == ["no.md", "docs/README.md#no"]
    assert missing_tests("`test_mistakes_are_found` `test_no_such`") == {"test_no_such"}


def broken_links(page: Path, text: str) -> Iterator[str]:
    """Targets of a page's links that are no file, or no heading of one."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue  # another site
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield target


def anchors(page: Path) -> set[str]:
    """Of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def commands_in(text: str) -> Iterator[list[str]]:
    """Words of each wavetank command line in a page's code, up to a comment, a pipe or an ellipsis."""
    for code in CODE.findall(text):
        for found in COMMAND.findall(code):
            whole = found.replace("\\\n", " ")
            line = re.split(r"\s#|\s[|>&;]|\s\d>|\.\.\.|…|[|<>]", whole)[0]
            try:
                words = shlex.split(line)
            except ValueError:
                words = line.split()
            words = [word.strip(",.;:()") for word in words]
            yield [word for word in words if word]


def mistake_in(words: list[str]) -> str | None:
    """What is wrong with a command line: a command or an option that is not there."""
    command: click.Command = cli
    names, context = [], click.Context(cli)
    rest = list(words)
    while isinstance(command, click.Group):
        if not rest:
            return None  # a group is named as such
        if rest[0].startswith("-"):
            break
        found = command.get_command(context, rest[0])
        if found is None:
            return f"no command {' '.join([*names, rest[0]])}"
        names.append(rest.pop(0))
        command = found
    options = {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    for word in rest:
        if word == "--":
            return None  # the user's own program
        option = word.partition("=")[0].partition("/")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in {"--help", *options}:
            return f"wavetank {' '.join(names)} has no option {option}"
    return None


def missing_tests(text: str) -> set[str]:
    """Tests that a page names and that are not there."""
    named = set(re.findall(r"`(?:[a-z_]+/)*(test_\w+)(?:\.py)?`", text))
    if not named:
        return set()
    files = list((ROOT / "tests").rglob("test_*.py"))
    there = {file.stem for file in files}
    for file in files:
        there |= set(re.findall(r"^ *def (test_\w+)\(", file.read_text(), re.MULTILINE))
    return named - there


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that pages take as given."""
    folder = tmp_path_factory.mktemp("given")
    shutil.copy(
        ROOT / "tests/data/darshan/ior_strided_shared_mpiio_coll_256k.darshan",
        folder / "job.darshan",
    )
    for words in (
        "convert job.darshan -o run.trace",
        "model run.trace -o app.model.json",
        "kernel app.model.json -o app.kernel.json",
    ):
        perform(words, folder)
    for copy in ("abyss.model.json", "replay.model.json"):
        shutil.copy(folder / "app.model.json", folder / copy)
    for name in ("replay", "app", "abyss", "dd"):
        shutil.copytree(folder / "run.trace", folder / f"{name}.trace")
    for name in ("nfs", "glusterfs-1", "glusterfs-2"):  # of clusters, which pages have from others
        shutil.copy(ROOT / f"examples/abyss/clusters/{name}.yaml", folder)
    for name in ("data", "scratch", "logs"):
        (folder / name).mkdir()
    for name in ("data/reads1.fastq", "app"):
        (folder / name).touch(0o755)
    for name in ("before", "after"):  # campaigns that pages compare
        shutil.copytree(ROOT / "docs/notebooks/memory-or-disk", folder / name)
    shutil.copy(ROOT / "tests/data/dftracer/python.pfw.gz", folder / "logs")
    return folder


def perform_lines(text: str, folder: Path) -> int:
    """Perform the lines of a page that work on files alone, in their order; their number."""
    n_performed = 0
    for kind, fenced, indented in FENCED.findall(text):
        block = (fenced or indented).replace("/scratch", str(folder / "scratch"))
        if named := re.match(r"# ([\w.-]+\.yaml)\n", block):
            (folder / named[1]).write_text(block)
        if kind in ("yaml", "console", "json", "python"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            words = line.strip().partition("#")[0].strip()
            if example := COPY_OF_AN_EXAMPLE.fullmatch(words):
                shutil.copytree(ROOT / example[1], folder / Path(example[1]).name)
            ours = words.removeprefix("sudo ")
            name = ours.removeprefix("wavetank ")
            if name != ours and ON_FILES.match(name):
                if made := re.match(r"cluster init .*-o (\S+)", name):
                    (folder / made[1]).unlink(missing_ok=True)  # it was given to other pages
                perform(name, folder)
                n_performed += 1
    return n_performed


def perform(words: str, folder: Path) -> None:
    """Perform a command in a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(cli, shlex.split(words))
    judged = words.startswith(("diff", "check"))  # 3: they differ, or cannot be told apart
    assert result.exit_code in ((0, 3) if judged else (0,)), (
        f"{words}: {result.output}\n{result.exception}"
    )
