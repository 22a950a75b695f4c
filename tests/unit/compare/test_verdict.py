"""The verdict: what to do, with numbers that carry it."""

import pytest
from compare_fakes import configuration, of

from wavetank.compare.decisions import decide
from wavetank.compare.metrics import Averager
from wavetank.compare.rank import rank
from wavetank.compare.verdict import change_between, cost_words, percent, verdict
from wavetank.compare.what_if_record import BestGain, Gain, VariantGains, WhatIf
from wavetank.compare.whole_run import with_run
from wavetank.kernel.document.variant import Variant
from wavetank.model.document.run_times import RunTimes

LONG = RunTimes(elapsed_s=26.0, io_s=1.0, io_rank=0, with_metadata=True)
SHORT = RunTimes(elapsed_s=2.0, io_s=1.0, io_rank=0, with_metadata=True)


def eight(value):
    return [value * (1 + step / 10_000) for step in range(8)]


def measured(cluster, io_s, *, n_instances=3, times=LONG, **others):
    costs = [io_s * n_instances * 0.42 / 3600] * 8
    found = configuration(cluster, eight(io_s), costs=costs, n_instances=n_instances, **others)
    return found if times is None else with_run(found, times, Averager())


def judge(configurations, *, baseline="nfs", by="time", **others):
    decisions = decide(configurations)
    ours = {each.id: each for each in configurations}
    ranking = rank(configurations, "a", by, decisions)
    return verdict("a", ours, ranking, decisions, baseline=baseline, **others)


def test_a_faster_cluster_that_saves_little_of_the_run_is_no_reason_to_change():
    # 25 + 1.5 = 26.5 s against 25 + 1 = 26 s: 1.9 % shorter, on 4 instances instead of 3.
    found = judge([measured("nfs", 1.5), measured("gl", 1.0, n_instances=4)])
    assert found.verb == "stay"
    assert found.choice == found.baseline == "a / nfs / 1PxCN"
    assert found.sentence == (
        "Stay with nfs: the fastest alternative shortens the run by 1.9 % and costs 31 % more."
    )


def test_the_share_that_is_worth_a_change_can_be_set():
    pair = [measured("nfs", 1.5), measured("gl", 1.0, n_instances=4)]
    found = judge(pair, smallest_saving=0.01)
    assert found.verb == "choose" and found.choice == "a / gl / 1PxCN"


def test_a_saving_of_the_run_is_told_with_both_times_and_the_cost():
    # 1 + 1.5 s against 1 + 0.5 s.
    found = judge([measured("nfs", 1.5, times=SHORT), measured("gl", 0.5, times=SHORT)])
    assert found.verb == "choose"
    assert found.sentence == (
        "Choose gl: against nfs it shortens the run by 40 % (2.50 s to 1.50 s) and costs 40 % less."
    )


def test_where_the_run_is_not_known_the_verdict_is_about_the_io_and_says_so():
    found = judge([measured("nfs", 1.5, times=None), measured("gl", 1.0, times=None)])
    assert "shortens the I/O by 33 %" in found.sentence
    assert "is not known" in found.run


def test_a_cost_that_falls_is_worth_a_change_that_saves_little_time():
    found = judge([measured("nfs", 1.5, n_instances=6), measured("gl", 1.0, n_instances=3)])
    assert found.verb == "choose" and "costs 51 % less" in found.sentence


def test_the_baseline_stays_where_nothing_is_measurably_faster():
    one = judge([measured("nfs", 1.0), measured("gl", 2.0)])
    assert one.sentence == "Stay with nfs: the alternative is not measurably faster."
    tied = judge([measured("nfs", 1.0), measured("gl", 1.001), measured("moose", 0.999)])
    assert tied.sentence == "Stay with nfs: none of the 2 alternatives is measurably faster."


def test_of_configurations_that_cannot_be_told_apart_the_cheapest_is_chosen_whichever_is_first_today():
    def chosen(one, other):
        found = judge(
            [
                measured("nfs", 9.0),
                measured("big", one, n_instances=8),
                measured("small", other, n_instances=4),
            ],
            smallest_saving=0.01,
        )
        assert "One other cannot be told apart from it." in found.sentence
        return found.choice

    assert chosen(1.0, 1.001) == chosen(1.001, 1.0) == "a / small / 1PxCN"


def test_without_a_baseline_a_choice_that_changes_little_is_left_to_the_user():
    found = judge([measured("nfs", 1.5), measured("gl", 1.0, n_instances=4)], baseline=None)
    assert found.verb == "any" and found.choice == "a / nfs / 1PxCN"
    assert found.sentence.startswith(
        "Any of the 2 will do: the first of the ranking shortens the run by 1.9 %"
    )


def test_one_configuration_is_no_choice():
    found = judge([measured("nfs", 1.0)])
    assert found.verb == "only" and "nothing to choose from" in found.sentence


def test_the_mapping_is_named_where_it_differs():
    found = judge([measured("nfs", 1.0), measured("nfs", 1.5, mapping="2PxCN")])
    assert found.sentence.startswith("Stay with nfs with 1PxCN")


@pytest.mark.parametrize("disturbed", [(8, 8), (8, 1)])
def test_disturbed_measurements_recommend_nothing_and_say_the_order_they_saw(disturbed):
    pair = [
        measured(name, io_s).model_copy(update={"n_disturbed": n})
        for name, io_s, n in zip(("nfs", "gl"), (1.5, 1.0), disturbed, strict=True)
    ]
    found = judge(pair)
    assert found.verb == "inconclusive" and found.choice is None
    assert found.sentence.startswith("Not conclusive: ")
    assert f"disturbed {sum(disturbed)} of 16 measurements" in found.sentence
    assert found.sentence.endswith("Tentative order: gl; nfs.")


def test_a_few_disturbed_measurements_are_not_void():
    pair = [measured("nfs", 1.5).model_copy(update={"n_disturbed": 8}), measured("gl", 1.0)]
    assert judge(pair).void is None


def test_too_few_repetitions_recommend_nothing():
    pair = [configuration("nfs", [2.0] * 3), configuration("gl", [1.0] * 3)]
    found = judge(pair)
    assert found.verb == "inconclusive"
    assert "Measure 4 of each." in found.sentence


def test_a_cheaper_cluster_is_chosen_by_cost():
    found = judge(
        [measured("nfs", 1.0, n_instances=6), measured("gl", 1.5, n_instances=3)], by="cost"
    )
    assert found.choice == "a / gl / 1PxCN"
    assert "lengthens the run by 1.9 % (26.00 s to 26.50 s) and costs 49 % less" in found.sentence


def test_what_is_not_told_apart_changes_nothing():
    pair = [measured("nfs", 1.0), measured("gl", 1.001)]
    change = change_between(pair[1], pair[0], told_apart=False)
    assert change.time is None and "nothing measurable" in change.words()


@pytest.mark.parametrize(
    ("share", "words"), [(0.314, "31 %"), (-0.019, "1.9 %"), (0.0002, "0.02 %"), (0, "0 %")]
)
def test_shares_have_the_digits_that_mean_something(share, words):
    assert percent(share) == words


def test_the_same_cost_is_said_as_such():
    assert cost_words(0.0001) == "costs the same"
    assert cost_words(-0.2) == "costs 20 % less"


def test_an_order_that_says_nothing_of_hardware_recommends_nothing():
    guests = measured("guests", 1.0)
    first, *rest = guests.phases
    phases = (first.model_copy(update={"comparable": False}), *rest)
    found = judge([measured("nfs", 2.0), guests.model_copy(update={"phases": phases})])
    assert found.verb == "inconclusive"
    assert "guests with 1PxCN is above one that is comparable with hardware" in found.sentence


def in_memory(found):
    return found.model_copy(update={"settings": {"file system": "existing: tmpfs"}})


def test_files_in_memory_are_never_recommended_as_a_place_for_files():
    found = judge(
        [measured("nfs", 1.5), measured("gl", 1.0), in_memory(measured("shm", 0.1))],
        smallest_saving=0.01,
    )
    assert found.choice == "a / gl / 1PxCN"
    assert "shm: files in memory" in found.sentence
    alone = judge([measured("nfs", 1.5), in_memory(measured("shm", 0.1))])
    assert alone.choice == "a / nfs / 1PxCN" and "nothing to choose from" in alone.sentence


def gains(change_percent, *, clear=True):
    before, after = eight(2.0), eight(2.0 * (1 + change_percent / 100))
    gain = Gain(
        configuration="a / nfs / 1PxCN", variant_configuration="v / nfs / 1PxCN", cluster="nfs", cluster_title="nfs",
        mapping="1PxCN", before="64 KiB", before_s=of(*before), after_s=of(*after), change_percent=of(change_percent),
        clear=clear, ties_with=(),
    )  # fmt: skip
    certificate = Variant.model_construct(knob="stripe size", after="4 MiB")
    best = (
        BestGain(application="v", configuration="a / nfs / 1PxCN")
        if clear and change_percent < 0
        else None
    )
    return WhatIf.model_construct(
        application="a", best=best, best_on_first=best, not_applying=(),
        variants=(VariantGains.model_construct(application="v", certificate=certificate, gains=(gain,)),),
    )  # fmt: skip


def test_one_file_system_with_a_knob_turned_says_whether_to_turn_it():
    one = [measured("nfs", 2.0)]
    found = judge(one, variants=gains(-40))
    assert found.verb == "choose"
    assert (
        found.sentence
        == "Change stripe size 64 KiB -> 4 MiB: on nfs it shortens the I/O by 40 % (2.00 s to 1.20 s)."
    )
    assert judge(one, variants=gains(-2)).sentence.startswith(
        "Leave it as it is: of 1 changes the best"
    )
    assert (
        judge(one, variants=gains(20)).sentence
        == "Leave it as it is: on nfs the change is not measurably faster."
    )
