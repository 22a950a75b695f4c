"""What is said of wrong values: where they are, what they are, and what to write."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from wavetank.document import Record
from wavetank.refusals import Written, findings_of
from wavetank.units import Rate

TEXT = "text, in quotes where YAML has another meaning for it"
NO_RATE = "is not a rate. Write, e.g., '100 MB/s' or '1 Gbit/s'"
NO_WORD = "is not possible: write lower case letters"
Word = Annotated[str, Written(r"[a-z]+", "lower case letters")]


class Hull(Record):
    depth: float


class Ship(Record):
    name: Word = "argo"
    masts: Annotated[int, Field(ge=1, lt=8)] = 3
    length: Annotated[float, Field(gt=0, le=300)] = 30.0
    steam: bool = False
    rig: Literal["brig", "sloop"] = "brig"
    port: Literal["home", "away"] | tuple[Word, ...] = "home"
    speed: Literal["slow"] | Rate = "slow"
    cargo: dict[Word, Word | int] = Field(default_factory=dict)
    crew: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)] = ("jason",)
    flag: Annotated[str, Field(min_length=1, max_length=4)] = "none"
    hull: Hull | None = None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "Argo"}, ["name: 'Argo' is not possible: write lower case letters"]),
        ({"name": "argo\n"}, ["name: 'argo\\n' is not possible: write lower case letters"]),
        ({"name": None}, [f"name: nothing is no text: write {TEXT}"]),
        ({"masts": 0}, ["masts: 0 is too small: write at least 1"]),
        ({"masts": 8}, ["masts: 8 is too large: write less than 8"]),
        ({"masts": "many"}, ["masts: 'many' is no whole number: write a whole number"]),
        ({"length": 0}, ["length: 0 is too small: write more than 0"]),
        ({"length": 300.5}, ["length: 300.5 is too large: write at most 300"]),
        ({"length": "long"}, ["length: 'long' is no number: write a number"]),
        ({"steam": "perhaps"}, ["steam: 'perhaps' is neither yes nor no: write yes or no"]),
        ({"rig": "ketch"}, ["rig: 'ketch' is not possible: write 'brig' or 'sloop'"]),
        ({"crew": "jason"}, ["crew: 'jason' is no list: write a list: [A, B]"]),
        ({"crew": []}, ["crew: a list is too short: write at least 1 in it"]),
        ({"crew": ["a", "b", "c"]}, ["crew: a list is too long: write at most 2 in it"]),
        ({"flag": ""}, ["flag: '' is too short: write text"]),
        ({"flag": "black"}, ["flag: 'black' is too long: write at most 4 characters"]),
        ({"hull": 3}, ["hull: 3 has no keys: write keys with values: {KEY: VALUE}"]),
        ({"hull": {}}, ["hull.depth: this key is required"]),
        ({"sails": 3}, ["sails: no such key; is it misspelt?"]),
        # A value of several forms is said once, with all that it may be.
        ({"port": "sea"}, ["port: 'sea' is not possible: write 'home' or 'away', or a list: [A, B]"]),
        ({"speed": "fast"}, [f"speed: 'fast' is not possible: write 'slow'; or 'fast' {NO_RATE}"]),
        # Who wrote a list meant a list: what is wrong in it is said alone, each with its place.
        ({"port": ["a", "B", "C"]}, [f"port.1: 'B' {NO_WORD}", f"port.2: 'C' {NO_WORD}"]),
        ({"cargo": {"Gold": "g"}}, ["cargo.Gold: 'Gold' is not possible: write lower case letters"]),
        ({"cargo": {"gold": "much gold"}}, ["cargo.gold: 'much gold' is not possible: write lower case letters, or a whole number"]),
        ({"cargo": {"gold": [1]}}, [f"cargo.gold: a list is not possible: write {TEXT}, or a whole number"]),
        ({"masts": 0, "rig": 2}, ["masts: 0 is too small: write at least 1", "rig: 2 is not possible: write 'brig' or 'sloop'"]),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_with_its_place_and_what_to_write(
    body: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(ValidationError) as caught:
        Ship.model_validate(body)
    assert findings_of(caught.value) == said


def test_a_long_value_is_not_repeated_as_a_whole() -> None:
    with pytest.raises(ValidationError) as caught:
        Ship.model_validate({"name": "A" * 10_000})
    (said,) = findings_of(caught.value)
    assert said.endswith("A... is not possible: write lower case letters")
    assert len(said) < 200


def test_the_pattern_is_in_the_schema_also_of_keys() -> None:
    properties = Ship.model_json_schema()["properties"]
    assert properties["name"]["pattern"] == "[a-z]+"
    assert list(properties["cargo"]["patternProperties"]) == ["[a-z]+"]
