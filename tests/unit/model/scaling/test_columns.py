"""Numbers of ranks as exact functions of the number of processes and the rank; and what is no function is not guessed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wavetank.model.scaling.functions.process_functions import (
    NoFunctionError,
    candidates,
    value_at,
    whole_at,
)
from wavetank.model.scaling.functions.rank_functions import At, balanced, fit_column

Of = Callable[[int, int], int]


def fitted(of: Of, counts: tuple[int, ...], n: int) -> tuple[str, list[int]]:
    """The function of values ``of(n, rank)`` on all ranks, and what it gives at ``n``."""
    function = fit_column(
        {count: [of(count, rank) for rank in range(count)] for count in counts},
        {count: range(count) for count in counts},
    )
    return function.text, function.of(At(n, tuple(range(n))))


def block(total: int, n: int, rank: int) -> int:
    return total // n + (rank < total % n)


@pytest.mark.parametrize(
    ("of", "counts", "n", "text"),
    [
        (lambda n, r: 7, (2, 3), 9, "7"),
        (lambda n, r: 600 // n, (2, 3, 4), 6, "600 / np"),
        (lambda n, r: 8 * r + 3, (2, 3, 4), 9, "8 * rank + 3"),
        (lambda n, r: r * (1200 // n), (2, 3, 4), 6, "(1200 / np) * rank"),
        (lambda n, r: (n - 1 - r) * 10, (2, 3, 4, 5), 8, "-10 * rank + 10 * np - 10"),
        # rows of a square grid of ranks
        (lambda n, r: 5 * (r // int(n**0.5)), (4, 9, 16), 25, "5 * y"),
    ],
)
def test_what_is_a_function_of_np_and_rank_is_found(
    of: Of, counts: tuple[int, ...], n: int, text: str
) -> None:
    found, values = fitted(of, counts, n)
    assert values == [of(n, rank) for rank in range(n)]
    assert found == text


def test_blocks_of_a_total_and_their_starts_go_on_by_their_rule() -> None:
    # 50 records: 3 ranks have 17, 17, 16; 4 have 13, 13, 12, 12
    assert fitted(lambda n, r: block(50, n, r), (2, 3, 4), 7)[1] == [8, 7, 7, 7, 7, 7, 7]
    starts = fitted(lambda n, r: sum(block(50, n, i) for i in range(r)), (2, 3, 4), 6)[1]
    assert starts == [0, 9, 18, 26, 34, 42]


def test_blocks_rounded_up_are_another_rule() -> None:
    # ceil(50 / 3) = 17, 17 and 16 left; ceil(50 / 4) = 13, 13, 13 and 11; ceil(50 / 6) = 9, five times, and 5
    def rounded_up(n: int, r: int) -> int:
        size = -(-50 // n)
        return min(size, 50 - r * size)

    assert fitted(rounded_up, (3, 4, 6), 5)[1] == [10] * 5
    assert fitted(rounded_up, (3, 4, 6), 7)[1] == [8, 8, 8, 8, 8, 8, 2]


def test_rules_that_the_runs_do_not_tell_apart_are_not_chosen_from() -> None:
    # 51 over 2: 26 and 25. Over 4: one more for the first three, or 13, 13, 13 and 12 by rounding up: the same. Over 8 not.
    with pytest.raises(NoFunctionError, match="do not tell how 8 parts are made"):
        fitted(lambda n, r: block(51, n, r), (2, 4), 8)


def test_as_many_parameters_as_runs_are_no_evidence() -> None:
    assert candidates({2: 10, 4: 13}) == ()
    assert candidates({4: 5}) == ()
    with pytest.raises(NoFunctionError, match="2 runs more than it has parameters check it"):
        fit_column({2: [10, 10], 4: [13] * 4}, {2: range(2), 4: range(4)})


def test_functions_that_agree_on_the_runs_and_not_beyond_are_named() -> None:
    # 4 and 8 at np 4 and 16 are 2 * sqrt(np) and 2 * log2(np); at np 64 they are 16 and 12.
    found = candidates({4: 4, 16: 8}, least_checks=1)
    assert whole_at(found, 16, "it") == 8
    with pytest.raises(NoFunctionError, match=r"sqrt\(np\) \(16\) or 2 \* log2\(np\) \(12\)"):
        value_at(found, 64, "it")


def test_a_quotient_is_rounded_down_as_far_as_the_runs_tell_its_total() -> None:
    # floor(100 / np): 33, 14, 9 and 1 say that the total is 99 to 104 (np 3 and 7), 99 to 107 (11) and 96 to 191 (96),
    # so 99 to 101 by np 3. Rounding up, 33 at np 3 asks for 97 to 99 and 1 at np 96 for 96 at most: no total.
    found = candidates({3: 33, 7: 14, 11: 9, 96: 1})
    assert [str(one) for one in found] == ["floor([99 to 101] / np)"]
    with pytest.raises(NoFunctionError, match="not told exactly enough"):
        value_at(found, 20, "it")  # 99 / 20 is 4, and 100 / 20 is 5
    assert whole_at(found, 13, "it") == 7


def test_roots_and_logarithms_have_values_where_they_are_whole_only() -> None:
    with pytest.raises(NoFunctionError, match="np is no square"):
        value_at(candidates({4: 20, 9: 30, 16: 40}), 8, "it")
    with pytest.raises(NoFunctionError, match="np is no power of 2"):
        value_at(candidates({2: 1, 4: 2, 8: 3, 16: 4}), 12, "it")


@pytest.mark.parametrize(
    ("n", "dims"), [(4, (2, 2, 1)), (6, (3, 2, 1)), (8, (2, 2, 2)), (12, (3, 2, 2)), (7, (7, 1, 1)), (24, (4, 3, 2))]
)  # fmt: skip
def test_grids_are_balanced_as_mpi_dims_create_makes_them(n: int, dims: tuple[int, ...]) -> None:
    assert balanced(n, 3) == dims
