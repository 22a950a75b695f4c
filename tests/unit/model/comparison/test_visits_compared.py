"""Two models with families of files differ where a rank turns to the files in another order, or to other files."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from call_cases import N, model_of, on
from fold_builder import Event

from wavetank.model.comparison.difference import Difference, compare_models
from wavetank.model.document.model import Model


def reads(order: Sequence[int], *, rank: int = 0, first_handle: int = 0) -> list[Event]:
    """Files of one size are read in some order."""
    return [
        event
        for handle, file in enumerate(order, start=first_handle)
        for event in (
            on(rank, "open", file, handle=handle),
            Event(rank, "read", file, size=512, handle=handle),
            on(rank, "close", file, handle=handle),
        )
    ]


def read_model(order: Sequence[int], names: str = "/set/img_{}.jpg") -> Model:
    # The trace's files are in the order of their first use.
    number = {file: place for place, file in enumerate(dict.fromkeys(order))}
    paths = [names.format(file) for file in number]
    return model_of((reads([number[file] for file in order]), paths), families=True)


def only(a: Model, b: Model) -> Difference:
    (found,) = compare_models(a, b).differences
    return found


PLAIN = [*range(N)]


@pytest.mark.parametrize(
    "names",
    [
        "/set/img_{}.jpg",
        "/elsewhere/a/b/img_{}.jpg",
        "/root/set-img_{}.jpg",  # as a replay that has one folder names them
        "/set/tmp{}x.jpg",  # no name is the same
    ],
)
def test_the_same_order_is_no_difference_whatever_the_folder_is(names: str) -> None:
    again = [*PLAIN, *reversed(PLAIN)]
    assert compare_models(read_model(again), read_model(again, names)).same


@pytest.mark.parametrize(
    "names", ["/set/img_{}.jpg", "/elsewhere/img_{}.jpg", "/root/set-img_{}.jpg"]
)
def test_the_first_visit_that_differs_is_named(names: str) -> None:
    turned = [*PLAIN]
    turned[40], turned[41] = 41, 40
    found = only(read_model(PLAIN), read_model(turned, names))
    assert (found.field, found.a) == ("order of visits", "rank 0, visit 41: img_40.jpg")
    assert str(found.b).startswith("rank 0, visit 41: ") and str(found.b).endswith("img_41.jpg")


def test_files_without_a_name_in_common_are_told_apart_by_their_first_visits() -> None:
    again = [*PLAIN, *PLAIN]
    turned = [*PLAIN, *PLAIN[1:], 0]
    found = only(read_model(again), read_model(turned, "/set/tmp{}x.jpg"))
    assert found.a == f"rank 0, visit {N + 1}: img_0.jpg"
    assert found.b == f"rank 0, visit {N + 1}: tmp1x.jpg"


def test_another_random_order_of_the_same_files_differs() -> None:
    found = only(read_model(PLAIN), read_model([*reversed(PLAIN)]))
    assert found.a == "rank 0, visit 1: img_0.jpg"
    assert found.b == f"rank 0, visit 1: img_{N - 1}.jpg"


def test_which_rank_turns_to_a_file_is_compared() -> None:
    def model(shift: int) -> Model:
        events = [
            event
            for rank in range(2)
            for event in reads(
                [2 * i + (rank + shift) % 2 for i in range(N)], rank=rank, first_handle=rank * N
            )
        ]
        return model_of((events, [f"/set/f{i}" for i in range(2 * N)]), families=True)

    assert compare_models(model(0), model(0)).same
    found = only(model(0), model(1))
    assert (found.a, found.b) == ("rank 0, visit 1: f0", "rank 0, visit 1: f1")


@pytest.mark.parametrize("swapped", [False, True])
def test_calls_without_data_are_compared_by_the_order_of_names_too(swapped: bool) -> None:
    def model(order: Sequence[int]) -> Model:
        events = [
            *(on(0, "mkdir", i, arg=0o755) for i in range(N)),
            *(on(0, "rmdir", i) for i in order),
        ]
        return model_of((events, [f"/d/dir{i}" for i in range(N)]), families=True)

    other = [1, 0, *range(2, N)] if swapped else [*range(N)]
    result = compare_models(model(range(N)), model(other))
    assert [d.field for d in result.differences] == (["order of visits"] if swapped else [])
