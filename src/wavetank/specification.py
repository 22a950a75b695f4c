"""Files that people write: YAML, held against a record, with all that is wrong said at once and where it is."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from wavetank.document import read_text
from wavetank.errors import SpecError
from wavetank.refusals import findings_of

RecordT = TypeVar("RecordT", bound=BaseModel)


def read_yaml(
    path: Path, record: type[RecordT], what: str, stand_ins: Mapping[str, Any] | None = None
) -> RecordT:
    """Read a specification that a person wrote.

    Args:
        path: the YAML file.
        record: the model that it must fit.
        what: "cluster", "campaign", ...: the kind of file, for messages.
        stand_ins: values of required keys that stand in for wrong ones while the rest is looked at.

    Raises:
        SpecError: missing, not YAML, or keys and values that do not fit: all of them at once, each with its place.
    """
    found, findings = examine_yaml(path, record, what, stand_ins)
    if findings or found is None:
        said = findings[0] if len(findings) == 1 else "\n  " + "\n  ".join(findings)
        raise SpecError(f"{what} file {path}: {said}")
    return found


def examine_yaml(
    path: Path, record: type[RecordT], what: str, stand_ins: Mapping[str, Any] | None = None
) -> tuple[RecordT | None, list[str]]:
    """What is right in a specification, and all that is wrong, each with its place; see read_yaml.

    How parts fit together is only looked at when each is right, so what is wrong is left out, or replaced by its
    stand-in, and the rest is looked at again.

    Raises:
        SpecError: missing, or not YAML.
    """
    rest = copy.deepcopy(_yaml_body(path, what))
    findings: list[str] = []
    for _ in range(len(rest) + 1):
        try:
            return record.model_validate(rest), findings
        except ValidationError as error:
            found = error.errors(include_url=False)
            is_ours = bool(findings) and any(each["type"] == "missing" for each in found)
            if is_ours:  # a required key that was left out, without a stand-in
                return None, findings
            findings += [line for line in findings_of(error) if line not in findings]
            if any(each["loc"] == () for each in found):
                return None, findings
            for each in found:
                _leave_out(rest, each["loc"])
            rest = {**(stand_ins or {}), **rest}
    return None, findings


def _yaml_body(path: Path, what: str) -> dict[str, Any]:
    text = read_text(path, f"{what} file", SpecError)
    try:
        try:
            body = yaml.load(text, Loader=QuickLoader)  # noqa: S506 (a SafeLoader)
        except yaml.YAMLError:
            body = yaml.load(text, Loader=StrictLoader)  # noqa: S506 (it shows the line)
    except yaml.YAMLError as error:
        raise SpecError(f"{what} file {path} is not valid YAML: {error}") from error
    if body is None:
        raise SpecError(f"{what} file {path} is empty")
    if not isinstance(body, dict):
        raise SpecError(
            f"{what} file {path} must hold keys and values, not a {type(body).__name__}"
        )
    return body


def _leave_out(body: dict[str, Any], place: tuple[int | str, ...]) -> None:
    """Delete the innermost value that there is on the way to a place."""
    holder, key, inner = body, place[0], body.get(str(place[0]))
    for part in place[1:]:
        if not isinstance(inner, dict) or part not in inner:
            break
        holder, key, inner = inner, part, inner[part]
    holder.pop(str(key), None)


class _Strict(yaml.constructor.SafeConstructor):
    """YAML's plain types only, and no key twice: YAML forbids it, and PyYAML would take the last.

    Keys are words: ``on`` is a key of its own, as in YAML 1.2, and not the boolean that it is in YAML 1.1.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping, when each of its keys stands once."""
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:bool":
                key_node.tag = "tag:yaml.org,2002:str"
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


class StrictLoader(_Strict, yaml.SafeLoader):
    """In Python: its errors show the line."""


class QuickLoader(_Strict, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """By libyaml, where PyYAML has it: a table of prices of 100 kB in a tenth of the time."""
