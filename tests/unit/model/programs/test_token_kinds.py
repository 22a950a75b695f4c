"""What tokens stand for: the kinds of rows, and what no row of a trace is."""

import numpy as np
import pytest

from wavetank.model.events.row_kinds import RowKind
from wavetank.model.programs.step_table import StepRow, StepTable
from wavetank.model.programs.tokens import TokenKind
from wavetank.trace.schema import LEVEL_NAMES, Level

ROW_KINDS: dict[str, int] = {name: value for name, value in vars(RowKind).items() if name.isupper()}
LEVELS: dict[str, int] = {name: value for name, value in vars(Level).items() if name.isupper()}


def test_what_a_row_is_has_the_same_name_and_number_as_a_token() -> None:
    rows = ROW_KINDS.items() - {("IGNORED", RowKind.IGNORED)}
    tokens = {kind.name: int(kind) for kind in TokenKind}
    assert rows == {(name, tokens[name]) for name, _ in rows}


@pytest.mark.parametrize("value", [*ROW_KINDS.values(), *LEVELS.values()])
def test_what_rows_are_is_compared_in_the_width_of_their_column(value: int) -> None:
    column = np.arange(8, dtype=np.uint8)
    assert np.result_type(column, value) == np.uint8
    assert np.flatnonzero(column == value).tolist() == [value]


def test_every_level_has_a_name() -> None:
    assert {name.lower(): value for name, value in LEVELS.items()} == {
        name: level for level, name in LEVEL_NAMES.items()
    }


def test_what_is_put_between_rows_has_numbers_of_its_own() -> None:
    between = {kind for kind in TokenKind if kind.name not in ROW_KINDS}
    assert {kind.name for kind in between} == {"PAUSE", "BEGINS", "ENDED", "INTERLEAVING"}
    assert not {int(kind) for kind in between} & set(ROW_KINDS.values())
    assert len(set(TokenKind)) == len(TokenKind.__members__)


def test_a_step_goes_on_in_one_of_the_same_kind_that_names_the_same() -> None:
    step = StepRow(TokenKind.DATA, 3, 5, 1, 0)
    assert step.goes_on(StepRow(TokenKind.DATA, 3, 2, 0, 1))
    assert not step.goes_on(step._replace(what=4))
    assert not step.goes_on(step._replace(kind=int(TokenKind.FILE)))


def test_joined_steps_have_the_calls_of_both() -> None:
    first, second = StepRow(TokenKind.DATA, 3, 5, 1, 0), StepRow(TokenKind.DATA, 3, 2, 4, 1)
    table = StepTable([first, second], (), ())
    joined = table.joined(0, 1)
    assert joined == 2
    assert table.number(StepRow(TokenKind.DATA, 3, 7, 5, 1)) == joined
    assert table.joined(1, 0) == joined
    assert len(table) == 3
