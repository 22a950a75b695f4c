from hypothesis import given
from hypothesis import strategies as st

from wavetank.kernel.document.operations import first_difference, normal, totals
from wavetank.model.document.phase import Run


def unfold(runs: list[Run]) -> list[tuple[int, int, int]]:
    """(offset, size, moved) of each operation."""
    operations = []
    for run in runs:
        last = run.moved - (run.count - 1) * run.rs
        operations += [
            (run.offset + i * run.disp, run.rs, run.rs if i + 1 < run.count else last) for i in range(run.count)
        ]  # fmt: skip
    return operations


small = st.integers(0, 4)
runs = st.builds(
    lambda count, rs, offset, disp, short: Run(
        count=count, rs=rs + 1, offset=offset, disp=disp, moved=count * (rs + 1) - min(short, rs + 1)
    ),
    st.integers(1, 4), small, small, small, st.sampled_from([0, 0, 0, 1]),
)  # fmt: skip


@given(st.lists(runs, max_size=8))
def test_normal_form_keeps_every_operation(sequence):
    assert unfold(normal(sequence)) == unfold(sequence)
    assert totals(normal(sequence)) == totals(sequence)


@given(st.lists(runs, max_size=6))
def test_single_operations_fold_to_the_same_normal_form_or_the_same_operations(sequence):
    singles = [
        Run(count=1, rs=rs, offset=offset, disp=0, moved=moved)
        for offset, rs, moved in unfold(sequence)
    ]
    assert unfold(normal(singles)) == unfold(sequence)
    assert first_difference(normal(singles), sequence) is None


@given(st.lists(runs, max_size=5), st.lists(runs, max_size=5))
def test_the_first_difference_is_where_unfolded_operations_first_differ(left, right):
    a = [operation[:2] for operation in unfold(left)]
    b = [operation[:2] for operation in unfold(right)]
    expected = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if expected is None and len(a) != len(b):
        expected = min(len(a), len(b))
    assert first_difference(left, right) == expected


def test_a_long_regular_sequence_is_one_run():
    singles = [Run(count=1, rs=10, offset=100 * i, disp=0, moved=10) for i in range(40)]
    assert normal(singles) == [Run(count=40, rs=10, offset=0, disp=100, moved=400)]
