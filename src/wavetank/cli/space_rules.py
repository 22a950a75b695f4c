"""Access rules as people write them, for commands of ``wavetank space``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wavetank.errors import ServiceError, UsageError

if TYPE_CHECKING:
    from wavetank.service.core.records import Access

F = TypeVar("F", bound=Callable[..., Any])


def authority_option(command: F) -> F:
    """Add ``--authority``."""
    return click.option(
        "--authority",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="With rules cert:NAME: certificate of who signs for these names, as PEM.",
    )(command)


def rules_of(texts: Sequence[str], authority: Path | None = None) -> tuple[Access, ...]:
    """Access rules as people write them.

    Args:
        texts: 10.0.0.7, 10.0.0.0/24:ro, cert:NAME, key:NAME.
        authority: file with who signs for the names in certificates; None: not said.

    Raises:
        UsageError: one that cannot be, or an authority that no rule needs.
        ServiceError: the file cannot be read.
    """
    from pydantic import ValidationError

    from wavetank.document import explain, read_text
    from wavetank.service.core.records import Access

    signs = None if authority is None else read_text(authority, "the authority", ServiceError)
    found = []
    for text in texts:
        subject, level = text, "rw"
        for ending in ("rw", "ro"):
            if text.endswith(f":{ending}"):
                subject, level = text.removesuffix(f":{ending}"), ending
        kind = "ip"
        for prefix, named in (("cert:", "certificate"), ("key:", "key")):
            if subject.startswith(prefix):
                kind, subject = named, subject.removeprefix(prefix)
        rule: dict[str, str | None] = {"kind": kind, "subject": subject, "level": level}
        if kind == "certificate":
            rule["authority"] = signs
        try:
            found.append(Access.model_validate(rule))
        except ValidationError as error:
            raise UsageError(f"access rule {text!r}: {explain(error)}") from error
    if signs is not None and not any(rule.kind == "certificate" for rule in found):
        raise UsageError("--authority goes with rules by certificate: write cert:NAME")
    return tuple(found)
