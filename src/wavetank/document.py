"""The files between stages: one JSON document each, versioned, with provenance, written whole or not at all.

A stage's document class derives from ``Document`` and names its ``kind``; ``write`` and ``read``
below are the only code that puts one on disk or takes one from it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wavetank import __version__
from wavetank.errors import DocumentError, WavetankError
from wavetank.refusals import findings_of


class Record(BaseModel):
    """A part of a document or specification: immutable, and no key that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def model_construct(  # type: ignore[override]  # mypy's plugin for pydantic gives each record its own
        cls, _fields_set: set[str] | None = None, **values: object
    ) -> Self:
        """A record of values that are known to fit: they are not looked at, which takes a tenth of the time.

        Args:
            values: one for each field that has no default; factories of defaults are not called.
        """
        return _put(cls.__new__(cls), _defaults(cls) | values, _fields_set or set(values))

    @classmethod
    def of_columns(cls, **columns: Sequence[object]) -> tuple[Self, ...]:
        """Records likewise, of one column for each field, in the order of the fields."""
        names, new, given = tuple(columns), cls.__new__, set(columns)
        rows = zip(*columns.values(), strict=True)
        return tuple([_put(new(cls), dict(zip(names, row)), given) for row in rows])  # noqa: B905


# What fills an attribute of a record, looked up once: each is filled once for each record.
_set_values, _set_given, _set_extra, _set_private = (
    BaseModel.__dict__[name].__set__
    for name in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    )
)
R = TypeVar("R", bound=Record)


def _put(record: R, values: dict[str, object], given: set[str]) -> R:
    """Fill an empty record."""
    _set_values(record, values)
    _set_given(record, given)
    _set_extra(record, None)
    _set_private(record, None)
    return record


@cache
def _defaults(record: type[Record]) -> dict[str, object]:
    """All fields in their order; those without a default are None."""
    return {
        name: None if field.is_required() else field.default
        for name, field in record.model_fields.items()
    }


class HostFacts(Record):
    """The machine that a document was made on."""

    hostname: str
    kernel: str
    machine: str
    cpu_model: str | None
    n_cpus: int
    memory_bytes: int


class InputFile(Record):
    """A file that a document was made from."""

    path: str
    sha256: str


class Provenance(Record):
    """Where a document comes from: who made it, from what, where and when."""

    tool_version: str
    tool_commit: str | None = Field(
        description="git commit of a source checkout, or of what a package was made from; None when that is not known"
    )
    command: str
    created_utc: str
    host: HostFacts
    seed: int | None = None
    inputs: tuple[InputFile, ...] = ()


class Document(Record):
    """A versioned file of one stage. Subclasses set ``kind``, and ``version`` once it is changed after a release."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    error: ClassVar[type[WavetankError]] = DocumentError

    provenance: Provenance

    @classmethod
    def schema_id(cls) -> str:
        """What the file's ``schema`` key says: ``wavetank.<kind>/<version>``."""
        return f"wavetank.{cls.kind}/{cls.version}"

    def to_json(self) -> str:
        """The file's text."""
        body = {"schema": self.schema_id(), **self.model_dump(mode="json")}
        parts: list[str] = []
        _text(body, "\n", parts)
        return "".join(parts) + "\n"

    def write(self, path: Path) -> None:
        """Write the document whole, or leave what was there.

        Raises:
            DocumentError: the directory is missing, full or not writable.
        """
        write_whole(path, self.to_json())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a document.

        Raises:
            DocumentError (or the class's own ``error``): no such file, not JSON, another kind or
                version, or a key or value that does not fit, with the place.
        """
        text = read_text(path, f"{cls.kind} file", cls.error)
        try:
            body = json.loads(text)
        except json.JSONDecodeError as error:
            raise cls.error(
                f"{path} is not a {cls.kind} file: not valid JSON at line {error.lineno}, column {error.colno} "
                f"({error.msg}). It is damaged or was cut short; make it again"
            ) from error
        found = body.pop("schema", None) if isinstance(body, dict) else None
        if found != cls.schema_id():
            raise cls.error(
                f"{path} is not a {cls.kind} file that this version reads: its schema is {found!r}, "
                f"expected {cls.schema_id()!r}. Make it again with wavetank {__version__}"
            )
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            raise cls.error(f"{path} is damaged: {explain(error)}. Make it again") from error

    @classmethod
    def json_schema(cls) -> dict[str, object]:
        """The published JSON Schema of the file."""
        schema = cls.model_json_schema(mode="serialization")
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = cls.schema_id()
        schema["properties"]["schema"] = {"const": cls.schema_id()}
        schema["required"] = ["schema", *schema.get("required", [])]
        return schema


# One encoder for all values: making one for each takes most of the time of writing a large document.
_encode = json.JSONEncoder(ensure_ascii=False).encode
_PLAIN = {str, int, float, bool, type(None)}


@cache
def _encode_lines(line: str) -> Callable[[object], str]:
    """Encodes a record of plain values with a line break before each but the first."""
    return json.JSONEncoder(ensure_ascii=False, separators=("," + line, ": ")).encode


def _text(value: object, line: str, parts: list[str]) -> None:
    """JSON for people: a line for each key and record, lists of numbers and texts on one line.

    Args:
        value: what ``json`` can write.
        line: the line break before the value, with its indentation.
        parts: to which the text is added.
    """
    inner = line + " "
    if isinstance(value, dict) and value:
        if _PLAIN.issuperset(map(type, value.values())):
            parts += ("{", inner, _encode_lines(inner)(value)[1:-1], line, "}")
            return
        for number, (key, item) in enumerate(value.items()):
            parts += ("," if number else "{", inner, _encode(key), ": ")
            _text(item, inner, parts)
        parts += (line, "}")
    elif isinstance(value, list) and {dict, list} & set(map(type, value)):
        for number, item in enumerate(value):
            parts += ("," if number else "[", inner)
            _text(item, inner, parts)
        parts += (line, "]")
    else:
        parts.append(_encode(value))


def read_text(path: Path, what: str, error_type: type[WavetankError]) -> str:
    """Text of a file.

    Raises:
        ``error_type``: it cannot be read, or is not text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise error_type(f"{what} {path} is not a text file: {error.reason}") from error
    except OSError as error:
        raise error_type(f"cannot read {what} {path}: {error.strerror}") from error


def explain(error: ValidationError) -> str:
    """All findings of a validation in one line each: where, and what is wrong there."""
    lines = findings_of(error)
    return lines[0] if len(lines) == 1 else "\n  " + "\n  ".join(lines)


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file whole or not at all: temporary name, fsync, rename.

    What exists and is no regular file (a device, a named pipe, a link to either) is written into, never replaced.

    Raises:
        DocumentError: it cannot be written; what was there before stays.
    """
    content = text.encode() if isinstance(text, str) else text
    temporary: str | None = None
    try:
        if path.is_relative_to("/dev") or (path.exists() and not path.is_file()):
            path.write_bytes(content)
            return
        path = path.resolve()  # a link stays one
        fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(fd, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise DocumentError(
            f"cannot write {path}: {error.strerror}. Check that the directory exists, is writable and has space"
        ) from error


def check_writable(path: Path) -> None:
    """Find out before the work whether a file can be written after it. Nothing is made.

    Raises:
        DocumentError: the directory is missing or not writable, or the path is a directory.
    """
    folder = path.parent
    if path.is_dir():
        reason = "it is a directory"
    elif not folder.is_dir():
        reason = f"there is no directory {folder}. Make it first"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = f"{folder} is not writable. Choose another place"
    else:
        return
    raise DocumentError(f"cannot write {path}: {reason}")


def make_folder(path: Path) -> None:
    """Make a folder for output, with its parents.

    Raises:
        DocumentError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DocumentError(
            f"cannot make the folder {path}: {error.strerror}. Choose a place that is writable and has space"
        ) from error


def sha256_of(path: Path) -> str:
    """Hash of a file, or of a folder's files in the order of their names.

    Raises:
        DocumentError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        parts = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for part in parts:
            if path.is_dir():
                digest.update(str(part.relative_to(path)).encode() + b"\0")
            with part.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    except OSError as error:
        raise DocumentError(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()


def provenance(inputs: Iterable[Path] = (), seed: int | None = None) -> Provenance:
    """The provenance of a document that this process is about to write."""
    return Provenance.model_construct(
        tool_version=__version__,
        tool_commit=tool_commit(),
        command=shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        host=host_facts(),
        seed=seed,
        inputs=tuple(
            InputFile.model_construct(path=str(path), sha256=sha256_of(path)) for path in inputs
        ),
    )


NOT_WRITTEN = Provenance.model_construct(
    tool_version=__version__,
    tool_commit=None,
    command="",
    created_utc="",
    host=HostFacts.model_construct(
        hostname="", kernel="", machine="", cpu_model=None, n_cpus=0, memory_bytes=0
    ),
)
"""Of a document that is shown and no file: reading the whole input for its hash takes longer than the model of a small log."""


@cache
def host_facts() -> HostFacts:
    """Facts of this machine."""
    cpu_model = None
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                cpu_model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return HostFacts.model_construct(
        hostname=platform.node(),
        kernel=platform.release(),
        machine=platform.machine(),
        cpu_model=cpu_model,
        n_cpus=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    )


def _untraced() -> dict[str, str]:
    """The environment of our own programs: where this command is traced, they are no part of it."""
    if "WAVETANK_TRACE_DIR" not in os.environ:
        return dict(os.environ)
    return {
        name: value
        for name, value in os.environ.items()
        if name != "LD_PRELOAD" and not name.startswith("WAVETANK_TRACE_")
    }


@cache
def tool_commit() -> str | None:
    """The commit of this installation; None when it is not known."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        with suppress(OSError):  # noted when a package was made
            return Path(__file__).with_name("_commit.txt").read_text(encoding="ascii").strip()
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True, text=True, timeout=60, check=True, env=_untraced(),
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
