"""A kernel that somebody edited is refused in words, or does something: nothing of ours ends in an error of Python."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kernel_models as km
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.document import provenance
from wavetank.errors import KernelError, WavetankError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel, folders_beforehand
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.lowering.plan_text import lower
from wavetank.kernel.preparation.space import written_bytes
from wavetank.kernel.tables.all import kernel_tables
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.trace.open import open_trace

LOGS = Path(__file__).parents[3] / "data/darshan/recorded"
SOURCES = (
    "views",
    "bt_io.mpich.darshan",
    "madbench2.openmpi.darshan",
    "abyss.darshan",
    "dd.darshan",
)
PARTS = ("n_ranks", "files", "phases", "metadata", "views", "infos", "communicators", "programs")  # fmt: skip
_FIRST = 50  # entries of a list that are changed

Place = tuple[str | int, ...]


@cache
def sample(source: str) -> tuple[Model, dict[str, Any], dict[Place, list[Place]]]:
    """A model, its kernel as JSON, and the places in it by their kinds: without the numbers of entries."""
    model = (
        km.btio(steps=2)
        if source == "views"
        else extract_model(open_trace(LOGS / source), provenance())
    )
    with TemporaryDirectory() as folder:
        kernel = make_kernel(model, km.written(model, Path(folder)))
    body = {"schema": Kernel.schema_id(), **json.loads(kernel.model_dump_json())}
    kinds: dict[Place, list[Place]] = {}
    for part in PARTS:
        for place in places(body[part], (part,)):
            kind = tuple(key if isinstance(key, str) else "#" for key in place)
            kinds.setdefault(kind, []).append(place)
    return model, body, kinds


def places(value: Any, at: Place) -> list[Place]:
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:_FIRST])
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


def at(body: Any, place: Place) -> Any:
    for key in place:
        body = body[key]
    return body


def put(body: Any, place: Place, value: Any) -> Any:
    """The document with another value at a place."""
    if not place:
        return value
    changed = dict(body) if isinstance(body, dict) else list(body)
    changed[place[0]] = put(body[place[0]], place[1:], value)
    return changed


def others(value: Any) -> st.SearchStrategy[Any]:
    """What somebody may have written in place of a value."""
    if isinstance(value, bool) or value is None:
        return st.sampled_from([0, 1, -1, [0], [0, 1, 2], True, False])
    if isinstance(value, int):
        return st.sampled_from([value + 1, value - 1, -1, -7, 0, 1, 10**6, 2**31, 2**70])
    if isinstance(value, float):
        return st.sampled_from([-1.0, 0.0, 1e30])
    if isinstance(value, str):
        return st.sampled_from(
            [
                "",
                "fsync",
                "rename",
                "MPI_File_open",
                "MPI_File_set_view",
                "/",
                "..",
                "linear",
                "list",
            ]
        )
    if isinstance(value, dict):
        return st.sampled_from(
            [{k: v for k, v in value.items() if k != key} for key in value] or [0]
        )
    doubled = [[*value[: i + 1], *value[i:]] for i in range(min(len(value), _FIRST))]
    without = [[*value[:i], *value[i + 1 :]] for i in range(min(len(value), _FIRST))]
    return st.sampled_from([[], [0], value[::-1], *doubled, *without])


@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_an_edited_kernel_is_refused_in_words_or_used(source: str, data: st.DataObject) -> None:
    model, body, kinds = sample(source)
    place = data.draw(st.sampled_from(kinds[data.draw(st.sampled_from(sorted(kinds)))]))
    edited = put(body, place, data.draw(others(at(body, place))))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.json"
        path.write_text(json.dumps(edited))
        try:
            kernel = Kernel.read(path)
            lower(kernel)
            kernel_tables(kernel)
            replay_fidelity(kernel, model)
            folders_beforehand(kernel.files)
            written_bytes(kernel)
        except WavetankError as error:
            assert str(error)


def steps_of(value: Any, place: Place = ()) -> list[Place]:
    """Places of all calls that move no data."""
    return [
        one
        for one in places(value, place)
        if isinstance(at(value, one[len(place) :]), dict)
        and at(value, one[len(place) :]).get("step") == "file"
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 7}, "with name 7, and its names are 0 to 0: give one of these"),
        ({"name": -1}, "with name -1"),
        (
            {"view_ids": [0, 0]},
            "sets view_ids of 2 ranks, in a program of 1: give one view for each",
        ),
        ({"view_ids": []}, "sets view_ids of 0 ranks"),
    ],
)
def test_a_call_of_an_edited_kernel_that_names_what_is_not_there_is_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    body = sample("views")[1]
    where: Place = ("programs", 1, "steps")
    place = next(one for one in steps_of(at(body, where), where))
    path = tmp_path / "kernel.json"
    path.write_text(json.dumps(put(body, place, {**at(body, place), **change})))
    with pytest.raises(KernelError) as refused:
        Kernel.read(path)
    assert said in str(refused.value)
    assert "programs.1 " in str(refused.value)


def test_a_repetition_of_nothing_does_nothing(tmp_path: Path) -> None:
    model, body, _ = sample("dd.darshan")
    place: Place = ("programs", 0, "steps", 0)
    assert at(body, place)["step"] == "repeat"
    (tmp_path / "kernel.json").write_text(json.dumps(put(body, (*place, "steps"), [])))
    kernel = Kernel.read(tmp_path / "kernel.json")
    assert " repeat 3\n end\n" in lower(kernel)
    done = [part.kernel.operations for part in replay_fidelity(kernel, model) if part.ph_ids]
    assert done == [1, 0, 1]


def test_offsets_that_no_file_has_are_refused(tmp_path: Path) -> None:
    body = sample("views")[1]
    for place in sample("views")[2]["phases", "#", "offset", "#", "c"][:1]:
        (tmp_path / "kernel.json").write_text(json.dumps(put(body, place, 1 << 63)))
        with pytest.raises(KernelError, match="reach beyond byte 9223372036854775807"):
            Kernel.read(tmp_path / "kernel.json")
