"""Configurations whose numbers are not comparable with hardware are marked wherever their numbers are."""

import pytest
from compare_fakes import configuration

from wavetank.compare.comparable import above_words, marks_words
from wavetank.compare.comparison import Place, Ranking
from wavetank.compare.tables.phases import phase_results_table
from wavetank.compare.tables.ranking import origin_words
from wavetank.compare.words import origins_words


def marked(found):
    first, *rest = found.phases
    phases = (first.model_copy(update={"comparable": False}), *rest)
    return found.model_copy(update={"phases": phases})


GUESTS = marked(configuration("guests", [1.0, 1.1]))
HARDWARE = configuration("hardware", [2.0, 2.1])


def ranking(*order):
    return Ranking(
        application="a", by="time",
        places=tuple(
            Place(configuration=each.id, value=each.io_time_s, best=at, worst=at, ties_with=())
            for at, each in enumerate(order, 1)
        ),
    )  # fmt: skip


def test_a_ranking_says_that_a_marked_configuration_is_above_an_unmarked_one():
    said = above_words(ranking(GUESTS, HARDWARE), [GUESTS, HARDWARE])
    assert said.startswith("guests with 1PxCN is above one that is comparable with hardware")


@pytest.mark.parametrize(
    "order", [[HARDWARE, GUESTS], [GUESTS], [HARDWARE], [GUESTS, GUESTS]], ids=str
)
def test_a_ranking_without_one_below_says_nothing(order):
    assert above_words(ranking(*order), [GUESTS, HARDWARE]) is None


def test_a_caption_calls_caches_cold_only_where_they_were():
    assert origin_words(HARDWARE).endswith(", cold caches")
    left = HARDWARE.model_copy(update={"cache": "not emptied"})
    assert origin_words(left).endswith(", caches not emptied")


def test_marks_are_where_origins_are():
    assert origin_words(GUESTS).endswith("cold caches, not comparable with hardware")
    assert "comparable" not in origin_words(HARDWARE)
    assert origins_words([HARDWARE]) == "Measured under emulated limits"
    assert marks_words([GUESTS]) == " (not comparable with hardware)"
    assert origins_words([GUESTS, HARDWARE]).endswith(
        "(1 of 2 configurations not comparable with hardware)"
    )


def test_the_table_of_phases_marks_each_and_hides_the_column_where_all_are_comparable():
    table = phase_results_table([GUESTS, HARDWARE])
    (column,) = [column for column in table.columns if column.key == "comparable"]
    assert not column.machine
    (hidden,) = [c for c in phase_results_table([HARDWARE]).columns if c.key == "comparable"]
    assert hidden.machine


def test_without_data_the_calls_decide():
    calls_only = HARDWARE.model_copy(update={"weight_bytes": 0, "calls": ()})
    assert calls_only.comparable
    assert not GUESTS.comparable
