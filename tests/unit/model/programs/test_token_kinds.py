"""What tokens stand for: the kinds of rows, and what no row of a trace is."""

from wavetank.model.events.row_kinds import RowKind
from wavetank.model.programs.tokens import TokenKind


def test_what_a_row_is_has_the_same_name_and_number_as_a_token() -> None:
    rows = {kind.name: int(kind) for kind in RowKind if kind is not RowKind.IGNORED}
    tokens = {kind.name: int(kind) for kind in TokenKind}
    assert rows == {name: tokens[name] for name in rows}


def test_what_is_put_between_rows_has_numbers_of_its_own() -> None:
    between = {kind for kind in TokenKind if kind.name not in RowKind.__members__}
    assert {kind.name for kind in between} == {"PAUSE", "BEGINS", "ENDED", "WEAVE"}
    assert not {int(kind) for kind in between} & {int(kind) for kind in RowKind}
    assert len(set(TokenKind)) == len(TokenKind.__members__)
