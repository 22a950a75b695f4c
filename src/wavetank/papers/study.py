"""A study of a paper: a folder with a campaign or an interference file, its clusters, and the paper's statements.

Reads ``statements.yaml``; studies come with wavetank, and any folder of that shape is one too.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from wavetank.document import Record
from wavetank.errors import SpecError, UsageError
from wavetank.papers.claims import Claim, HigherRate, Part, Rows
from wavetank.specification import read_yaml

STATEMENTS = "statements.yaml"


class Statement(Record):
    """One sentence of the paper, and what it claims of the study's configurations."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    quote: str = Field(min_length=1, description="as printed, or what the table shows")
    source: str = Field(min_length=1, description="section, table or figure")
    says: Claim


class StudiedModel(Record):
    """Models of one application at several process counts, smaller than the paper's by a known factor."""

    name: str = Field(min_length=1)
    files: tuple[Path, ...] = Field(min_length=1, description="model files, one a process count")
    factor: int = Field(
        default=1, ge=1, description="bytes of the paper's run for each byte of these models"
    )


class Study(Record):
    """What a paper says, and the files that measure it."""

    paper: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,30}$", description="its short name")
    title: str = Field(min_length=1)
    reference: str = Field(min_length=1, description="authors, where and when it was published")
    campaign: Path | None = Field(default=None, description="campaign file")
    interfere: Path | None = Field(default=None, description="file of 'wavetank interfere'")
    models: tuple[StudiedModel, ...] = ()
    scaled: tuple[str, ...] = Field(
        default=(), description="sentences: what here is not as in the paper, and by how much"
    )
    statements: tuple[Statement, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        problems = list(_twice("statement", [each.id for each in self.statements]))
        problems += _twice("model", [each.name for each in self.models])
        if self.campaign is not None and self.interfere is not None:
            problems.append("name a campaign or an interfere file, not both")
        known = {each.name for each in self.models}
        for statement in self.statements:
            says = statement.says
            if isinstance(says, Rows):
                if says.model not in known:
                    problems.append(f"statement {statement.id}: there is no model {says.model!r}")
            elif isinstance(says, Part | HigherRate):
                if self.interfere is None:
                    problems.append(f"statement {statement.id}: it needs an interfere file")
            elif self.campaign is None:
                problems.append(f"statement {statement.id}: it needs a campaign file")
        if problems:
            raise ValueError("; ".join(problems))
        return self


@dataclass(frozen=True)
class LoadedStudy:
    """A study and where it is."""

    study: Study
    folder: Path

    def path(self, relative: Path) -> Path:
        """A file that the study names."""
        return self.folder / relative


def shipped_folder() -> Path:
    """Where the studies are that come with wavetank."""
    return Path(str(resources.files("wavetank.papers").joinpath("studies")))


def shipped_studies() -> tuple[str, ...]:
    """Names of the studies that come with wavetank."""
    return tuple(sorted(path.parent.name for path in shipped_folder().glob(f"*/{STATEMENTS}")))


def find_study(name: str) -> LoadedStudy:
    """A study by the name of one that is shipped, or by its folder.

    Raises:
        UsageError: there is none of that name.
        SpecError: its file is wrong, or a file that it names is missing.
    """
    if name in shipped_studies():
        return read_study(shipped_folder() / name)
    if (Path(name) / STATEMENTS).is_file():
        return read_study(Path(name))
    raise UsageError(
        f"there is no study {name!r}: neither one that comes with wavetank ({', '.join(shipped_studies())}) "
        f"nor a folder with a {STATEMENTS}"
    )


def read_study(folder: Path) -> LoadedStudy:
    """Read the study in a folder.

    Raises:
        SpecError: its file is wrong, or a file that it names is missing.
    """
    path = folder / STATEMENTS
    study = read_yaml(path, Study, "study")
    named = [each for each in (study.campaign, study.interfere) if each is not None]
    named += [file for model in study.models for file in model.files]
    missing = [str(file) for file in named if not (folder / file).is_file()]
    if missing:
        raise SpecError(f"study file {path} names files that are not there: {', '.join(missing)}")
    return LoadedStudy(study, folder.resolve())


def _twice(what: str, names: list[str]) -> list[str]:
    return [
        f"{what} {name} is named twice" for name in dict.fromkeys(names) if names.count(name) > 1
    ]
