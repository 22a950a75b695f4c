"""Where the time goes, as the report and `results` show it."""

from compare_fakes import configuration

from wavetank.compare.tables.use import use_table
from wavetank.compare.use import ConfigurationUse, UseOf, use_of
from wavetank.measure.bottleneck import bottleneck
from wavetank.measure.use import ResourceUse, Use

MB = 10**6


def writes(busiest):
    disk = ResourceUse(
        resource="disk write", kind="io", busiest=busiest, busiest_node="io1", mean=busiest, amount=busiest * 80 * MB,
        limit=80 * MB, unit="B/s",
    )  # fmt: skip
    return Use(
        span_s=1.0,
        n_readings=40,
        resources=(disk,),
        waiting=1 - busiest,
        n_ranks=2,
        in_flight=1.5,
        call_s=0.0123,
    )


def known(cluster, busiest):
    found = writes(busiest)
    whole = UseOf(use=found, bottleneck=bottleneck(found))
    made = configuration(cluster, [1.0])
    first, second = made.phases
    phases = (
        first.model_copy(update={"use": whole}),
        second.model_copy(update={"use": use_of([None]), "time_s": made.io_time_s.model_copy(update={"median": 0.01})}),
    )  # fmt: skip
    use = ConfigurationUse(whole=whole, outside=use_of([None]), n_repetitions=1)
    return made.model_copy(update={"use": use, "phases": phases})


def cells(table, position):
    return dict(zip((c.key for c in table.columns), table.rows[position], strict=True))


def test_the_report_names_what_took_the_time_and_shows_each_share():
    table = use_table([known("NFS", 0.97)])
    whole = cells(table, 0)
    assert whole["bottleneck"].text == "disk write of io1"
    assert whole["bottleneck"].lines == ("disk write of io1: 97 % of 80.0 MB/s",)
    assert (whole["disk_shown"].text, whole["disk_shown"].strong) == ("- / 97 %", True)
    assert whole["disk_write"].value == 0.97
    assert whole["disk_read"].value is None
    assert whole["waiting"].text == "3 %"
    assert whole["calls"].text == "1.5 at a time, 12.3 ms each"


def test_people_see_long_parts_and_machines_all_of_them():
    table = use_table([known("NFS", 0.97)])
    parts = [row["part"] for row in table.records()]
    assert parts == ["all of the I/O", "phase 1, read", "phase 2, read", "outside of phases"]
    at = table.columns.index(next(c for c in table.columns if c.key == "part"))
    assert [row[at].text for row in table.shown] == parts[:2]
    assert cells(table, 2)["bottleneck"].text == "too short to tell"


def test_a_campaign_in_which_nothing_was_recorded_has_no_such_table():
    unknown = configuration("NFS", [1.0])
    assert use_table([unknown]).rows == ()


def test_a_configuration_of_which_nothing_is_known_is_said_so():
    table = use_table([known("NFS", 0.5), configuration("Other", [1.0])])
    assert cells(table, 4)["bottleneck"].text == "not known"
    assert table.caption.endswith("Not known of 1 configurations.")
    known_only = use_table([known("NFS", 0.5), configuration("Other", [1.0])], unknown=False)
    assert len(known_only.rows) == 4
    assert known_only.caption == table.caption


def test_results_have_the_sentence_for_people_and_plain_shares_for_machines():
    table = use_table([known("NFS", 0.06)], unknown=False)
    whole = table.records()[0]
    assert (whole["disk_write"], whole["disk_read"], whole["waiting"]) == (0.06, None, 0.94)
    assert whole["bottleneck"] == "latency of single requests"
    assert whole["sentence"] == (
        "none of these: latency of single requests (12.3 ms each, 1.5 at a time from 2 ranks); "
        "fullest: disk write of io1, 6 %"
    )
    assert whole["also"] == []
    assert len(table.shown) == 2
    assert len(table.rows) == 4
