"""References of files that people write: each key has a paragraph with its default and an example that is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from types import UnionType
from typing import Any, get_args

import pytest
import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from reference_pages import (
    EXAMPLE,
    REFUSED,
    merged,
    paragraphs,
    says_default,
)

from wavetank.campaign.spec import CampaignSpec
from wavetank.cluster import registry
from wavetank.cluster.devices import unmade_devices
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import Record
from wavetank.errors import SpecError
from wavetank.interfere.spec import InterfereSpec
from wavetank.refusals import findings_of
from wavetank.specification import StrictLoader


@dataclass(frozen=True)
class Reference:
    """A page and the file that it describes.

    Attributes:
        spec: of the file.
        least: a file with the required keys alone.
        nested: whether keys inside of keys have paragraphs of their own.
        more: what a file needs besides for an example of such a key, by the outer key.
    """

    spec: type[Record]
    least: dict[str, Any]
    nested: bool = False
    more: dict[str, dict[str, Any]] = field(default_factory=dict)

    def keys(self) -> dict[str, FieldInfo]:
        """Keys that have a paragraph, in the order of the records; ``storage.size`` is inside of ``storage``."""
        return dict(_inner(self.spec)) if self.nested else dict(self.spec.model_fields)

    def base(self, key: str) -> dict[str, Any]:
        """The least file that an example of the key is put into."""
        return merged(self.least, self.more.get(key.partition(".")[0], {}))


def _inner(record: type[Record], before: str = "", seen: tuple[type[Record], ...] = ()) -> Iterator[tuple[str, FieldInfo]]:  # fmt: skip
    """Keys of a record and of those inside of it; of one that stood before only its own key."""
    for name, info in record.model_fields.items():
        inner = _record(info.annotation)
        if inner is None or inner in seen:
            yield before + name, info
        else:
            yield from _inner(inner, f"{before}{name}.", seen)
            seen = (*seen, inner)


def _record(annotation: object) -> type[Record] | None:
    parts = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    found = [part for part in parts if isinstance(part, type) and issubclass(part, Record)]
    return found[0] if found else None


SSH = {
    "provider": "ssh",
    "ssh": {
        "hosts": {"c1": "node01", "c2": "node-b", "io1": "node-c"},
        "user": "root",
        "identity_file": "/key",
        "known_hosts": "/known",
    },
}
CLOUD = {"cloud": {"region": "us-east-1", "ttl": "1 h", "budget": "5 USD"}}
REFERENCES = {
    "campaign": Reference(
        CampaignSpec,
        {"name": "a", "applications": [{"model": "a.json"}], "clusters": ["a.yaml"], "prices": "a-table"},
    ),
    "interfere": Reference(
        InterfereSpec,
        {"name": "a", "groups": [{"name": "a", "clients": 1, "objects": {}}, {"name": "b", "model": "b.json"}], "clusters": ["a.yaml"]},
    ),
    "cluster-spec": Reference(
        ClusterSpec,
        {"name": "a", "instance": {"name": "x"}, "nodes": {"compute": 2, "io": 1}, "file_system": {"kind": "nfs"}},
        nested=True,
        more={"ssh": SSH, "cloud": CLOUD},
    ),
}  # fmt: skip
KEYS = [(page, key) for page, reference in REFERENCES.items() for key in reference.keys()]  # noqa: SIM118
REFUSALS = [
    (page, key, example, words)
    for page in REFERENCES
    for key, text in paragraphs(page)
    for example, words in REFUSED.findall(text)
]


@pytest.mark.parametrize("page", REFERENCES)
def test_each_key_has_a_paragraph_and_each_paragraph_a_key(page: str) -> None:
    assert sorted(name for name, _ in paragraphs(page)) == sorted(REFERENCES[page].keys())


@pytest.mark.parametrize(("page", "key"), KEYS)
def test_a_paragraph_says_the_default_or_that_there_is_none(page: str, key: str) -> None:
    info = REFERENCES[page].keys()[key]
    text = dict(paragraphs(page))[key]
    assert ("Required." in text) == info.is_required()
    assert info.is_required() or says_default(text, info.default)


@pytest.mark.parametrize(("page", "key"), KEYS)
def test_the_example_of_a_key_is_taken_and_is_not_its_default(page: str, key: str) -> None:
    reference = REFERENCES[page]
    base = reference.base(key)
    (example,) = EXAMPLE.findall(dict(paragraphs(page))[key])
    given = yaml.load(example, Loader=StrictLoader)
    if reference.nested:  # a key may take others with it
        reduce(lambda inner, name: inner[name], key.split("."), given)
    else:
        assert list(given) == [key]
    taken = reference.spec.model_validate(merged(base, given))
    before = reference.spec.model_validate(base)
    assert _value(taken, key) != _value(before, key)


def _value(spec: Record, key: str) -> object:
    return reduce(lambda inner, name: getattr(inner, name, None), key.split("."), spec)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(("page", "key", "example", "words"), REFUSALS)
def test_what_a_paragraph_says_to_be_refused_is_refused_with_these_words(
    page: str, key: str, example: str, words: str
) -> None:
    reference = REFERENCES[page]
    given = yaml.load(example, Loader=StrictLoader)
    said = [
        finding
        for base in (reference.least, reference.base(key))
        for finding in _refusals(reference.spec, merged(base, given))
    ]
    assert words in "\n".join(said)


def _refusals(spec: type[Record], body: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a file: in it, and as its drivers see it."""
    try:
        found = spec.model_validate(body)
    except ValidationError as error:
        yield from findings_of(error)
        return
    if isinstance(found, ClusterSpec):
        yield from _refusals_of_drivers(found)


def _refusals_of_drivers(spec: ClusterSpec) -> Iterator[str]:
    try:
        provider = registry.provider(spec.provider)
        driver = registry.file_system(spec.file_system.kind)
    except SpecError as error:
        yield str(error)
        return
    yield from driver.check(spec)
    yield from unmade_devices(spec.storage, spec.provider, driver)
    if spec.provider == "ssh":  # which looks at the file alone; others look at this machine
        yield from provider.check(spec)
