"""What the documentation names is there: files, headings, commands and their options. Its sentences are short."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from wavetank.cli.main import cli
from wavetank.cli.schema import SCHEMAS

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# What changed and why it was chosen may name what is no more.
PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md" and "decisions" not in page.parts]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```[\s\S]*?^```$|`[^`\n]+`|^ {4}\S[^\n]*(?:\\\n[^\n]*)*$", re.MULTILINE)
COMMAND = re.compile(r"(?:^|[\s`$(])(?:sudo )?wavetank ((?:[a-z]|--help)[^`\n]*(?:\\\n[^`\n]*)*)")


def anchors(page: Path) -> set[str]:
    """Of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    wrong = []
    for target in LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue  # another site
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            wrong.append(target)
    assert wrong == []


def commands_in(text: str) -> Iterator[list[str]]:
    """Words of each command line of ours in a page's code, without what a shell would take for its own."""
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
    options = {"--help": True} | {
        option: isinstance(parameter, click.Option) and not parameter.is_flag
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("-")
    }
    for word in rest:
        if word == "--":
            return None  # the user's own program
        option = word.partition("=")[0].partition("/")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in options:
            return f"wavetank {' '.join(names)} has no option {option}"
    return None


@pytest.mark.parametrize("page", PRESENT, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_that_are_shown_are_there(page: Path) -> None:
    wrong = [mistake_in(words) for words in commands_in(page.read_text())]
    assert [each for each in wrong if each] == []


def test_schemas_that_pages_name_are_there() -> None:
    named = [
        words[1]
        for page in PRESENT
        for words in commands_in(page.read_text())
        if words[:1] == ["schema"] and len(words) > 1 and re.fullmatch(r"[a-z][a-z-]+", words[1])
    ]
    assert len(named) > 3
    assert sorted({name for name in named if name not in SCHEMAS}) == []


def test_mistakes_are_found() -> None:
    shown = "    wavetank trace -o a -- ls --no-such\n    sudo wavetank kernell a.json\n`wavetank show a --colour red`\n"
    found = [mistake_in(words) for words in commands_in(shown)]
    assert found == [None, "no command kernell", "wavetank show has no option --colour"]


def test_every_command_of_ours_is_in_the_documentation() -> None:
    text = "\n".join(page.read_text() for page in PAGES if page.name != "CHANGELOG.md")
    context = click.Context(cli)
    names = []
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        names.append(name)
        if isinstance(command, click.Group):
            names += [f"{name} {sub}" for sub in command.list_commands(context)
                      if not command.commands[sub].hidden]  # fmt: skip
    missing = [name for name in names if f"wavetank {name}" not in text]
    assert missing == []


def test_lines_of_shell_take_our_files_from_wherever_the_clone_is() -> None:
    """The reader of a page is in a folder of their own; README alone is read in the clone."""
    starts = re.compile(
        r"^ *(?:\$ )?(?:sudo |wavetank |cp |mpicc\S* |python3? |pip |kubectl |examples/\S+[^/\s]$)"
    )
    elsewhere = [
        f"{page.relative_to(ROOT)}: {line.strip()}"
        for page in PRESENT
        if page.parent != ROOT
        for code in CODE.findall(page.read_text())
        for line in code.splitlines()
        if starts.match(line) and re.search(r'(?<!"\$WAVETANK/)(?:examples|tests)/', line)
    ]
    assert elsewhere == []


def test_the_index_of_decisions_names_each_of_them() -> None:
    decisions = ROOT / "docs/decisions"
    index = (decisions / "README.md").read_text()
    pages = [page.name for page in sorted(decisions.glob("0*.md"))]
    assert [page for page in pages if f"]({page})" not in index] == []


def test_tests_that_the_threat_model_names_are_there() -> None:
    page = (ROOT / "docs/concepts/service-threats.md").read_text()
    files = {path.name: path.read_text() for path in (ROOT / "tests").rglob("test_service*.py")}
    files["test_cli_service.py"] = (ROOT / "tests/cli/test_cli_service.py").read_text()
    there = set(files) | {
        name
        for text in files.values()
        for name in re.findall(r"^ *def (\w+)\(", text, re.MULTILINE)
    }
    named = set(re.findall(r"`(?:[a-z_]+/)*(test_\w+(?:\.py)?)`", page))
    assert len(named) > 30
    assert sorted(named - there) == []


MOST_WORDS = 25
PROSE = [page for page in PAGES if page.name != "CHANGELOG.md"]
NO_PROSE = re.compile(r"^```[\s\S]*?^```$|^ {4}.*$|^\|.*$", re.MULTILINE)
BLOCK_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#]|\d+\.) )")
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\s·\s")


def sentences_in(text: str) -> Iterator[str]:
    """Sentences of a page's prose, without code, tables and the targets of links; parts that a colon or semicolon ends count alone."""
    prose = re.sub(r"\]\([^)]*\)", "]", NO_PROSE.sub("", text))
    for block in BLOCK_END.split(prose):
        for sentence in SENTENCE_END.split(block):
            yield " ".join(sentence.split())


def test_a_sentence_ends_where_a_reader_would_end_it() -> None:
    text = "Rank 0 writes `a.b` (4 KiB): all\nread it. See [it](x y z) · more\n- a\n- b\n\n```\ncode. code\n```\n| a. b |\n"
    assert list(filter(None, sentences_in(text))) == [
        "Rank 0 writes `a.b` (4 KiB):", "all read it.", "See [it]", "more", "- a", "- b",
    ]  # fmt: skip


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_have_at_most_25_words(page: Path) -> None:
    long = [found for found in sentences_in(page.read_text()) if len(found.split()) > MOST_WORDS]
    assert long == []
