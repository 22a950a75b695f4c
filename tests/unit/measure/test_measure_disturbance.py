from dataclasses import replace

import pytest

from wavetank.measure.conditions import look_after, look_before
from wavetank.measure.disturbance import Counts, MachineWatch, read_counts

QUIET = Counts(
    at_s=0.0, busy_s=0.0, stolen_s=0.0, all_s=0.0,
    waiting_s={"cpu": 0.0, "io": 0.0, "memory": 0.0}, load_average=0.5, processors=2,
)  # fmt: skip


def at(time_s, busy_s=0.0, stolen_s=0.0, **waiting_s):
    """Counts of two processors at a moment."""
    return replace(
        QUIET, at_s=time_s, busy_s=busy_s, stolen_s=stolen_s, all_s=2 * time_s,
        waiting_s=QUIET.waiting_s | waiting_s,
    )  # fmt: skip


def watched(*counts, elsewhere=(), nodes_s=(None, None, None, None)):
    readings, of_nodes = iter(counts), iter(nodes_s)
    watch = MachineWatch(read=lambda: next(readings), sleep=lambda _: None)
    return watch.after(watch.before(elsewhere, lambda: next(of_nodes)))


def test_a_machine_that_idles_around_a_measurement_disturbs_nothing():
    # A look of one second before, ten seconds with both processors busy, a look after.
    load = watched(at(1), at(2, 0.1), at(12, 20.1), at(13, 20.2))
    assert load.disturbed == () and load.doubt() is None
    assert (load.busy_before, load.busy_over, load.busy_after) == (0.05, 1.0, 0.05)


def test_another_program_before_or_after_disturbs():
    before = watched(at(1), at(2, 1.0), at(12, 11.0), at(13, 11.0))
    assert (
        before.busy_before == 0.5
        and "50 % of the processors were busy just before" in before.disturbed
    )
    after = watched(at(1), at(2), at(12, 10.0), at(13, 11.0))
    assert after.busy_after == 0.5 and "just after" in after.disturbed[0]
    assert "other work" in after.doubt()


def test_time_that_the_machine_below_takes_disturbs():
    load = watched(at(1), at(2), at(12, 10.0, stolen_s=2.0), at(13, 10.0, stolen_s=2.0))
    assert load.stolen_over == 0.1 and "10 % of the processors were taken" in load.disturbed[0]


def test_waiting_for_storage_before_disturbs_and_over_the_measurement_does_not():
    over = watched(at(1), at(2), at(12, io=9.0), at(13, io=9.0))
    assert over.disturbed == () and over.pressure_over["io"] == 0.9
    before = watched(at(1), at(2, io=0.5), at(12, io=0.5), at(13, io=0.5))
    assert "waited for storage in 50 % of the time" in before.disturbed[0]


def test_the_measured_time_does_not_decide():
    """However long and busy the measurement itself was, only the looks around it and theft count."""
    for length_s in (0.1, 1000.0):
        end = 2 + length_s
        assert (
            watched(at(1), at(2), at(end, 2 * length_s), at(end + 1, 2 * length_s)).disturbed == ()
        )


def test_nodes_elsewhere_are_asked_and_this_machine_is_not_judged_for_them():
    class Far:
        name = "far"

        def run(self, argv):
            assert argv == ["cat", "/proc/loadavg"]
            return type("Finished", (), {"stdout": "3.25 1.0 0.5 1/100 1\\n"})

    load = watched(at(1), at(2, 2.0), at(12, 4.0), at(13, 6.0), elsewhere=[Far()])
    assert load.elsewhere == {"far": 3.25} and load.disturbed == ()


def test_what_nodes_on_this_machine_use_while_they_idle_is_no_other_work():
    # of two processors, guests use 0.4 s of the second before, and 0.5 s of that after
    load = watched(at(1), at(2, 0.5), at(12, 18.5), at(13, 19.1), nodes_s=(10.0, 10.4, 26.4, 26.9))
    assert load.disturbed == ()
    assert (load.busy_before, load.nodes_before, load.others_before) == (0.25, 0.2, 0.05)
    assert (load.nodes_over, load.nodes_after, load.others_after) == (0.8, 0.25, 0.05)


def test_other_work_beside_idle_nodes_disturbs_and_their_share_is_said():
    load = watched(at(1), at(2, 1.0), at(12, 11.0), at(13, 11.0), nodes_s=(0.0, 0.4, 10.0, 10.0))
    assert load.disturbed == (
        "30 % of the processors were busy just before, without the 20 % of the nodes themselves",
    )


class Guest:
    """A node that could be elsewhere by its abilities, as guests can."""

    name, address = "c1", "10.77.0.2"

    def end_marked(self, name, value):
        raise AssertionError

    def run(self, argv):
        return type("Finished", (), {"stdout": "3.25 1.0 0.5 1/100 1\\n"})


@pytest.mark.parametrize(("here", "disturbed"), [(True, True), (False, False)])
def test_guests_on_this_machine_are_judged_by_it_and_hosts_on_others_are_not(here, disturbed):
    counts = iter((at(1), at(2, 1.0), at(12, 11.0), at(13, 11.0)))
    watch = MachineWatch(read=lambda: next(counts), sleep=lambda _: None)
    cluster = type("Cluster", (), {
        "compute_hosts": (Guest(),), "on_this_machine": here, "nodes_cpu_s": lambda _self: 0.0,
    })()  # fmt: skip
    load, doubts = look_after(watch, look_before(watch, cluster))
    assert bool(load.disturbed) == bool(doubts) == disturbed
    assert bool(load.elsewhere) != here


def test_the_kernels_counts_are_read_with_and_without_pressure(tmp_path):
    (tmp_path / "stat").write_text("cpu  100 10 50 800 40 0 0 20 0 0\ncpu0 1 1\ncpu1 1 1\nintr 5\n")
    (tmp_path / "loadavg").write_text("1.50 1.00 0.50 2/300 77\n")
    counts = read_counts(tmp_path, lambda: 7.0)
    assert (counts.busy_s, counts.stolen_s) == (pytest.approx(1.6), pytest.approx(0.2))
    assert (counts.all_s, counts.processors, counts.load_average) == (pytest.approx(10.2), 2, 1.5)
    assert counts.waiting_s is None
    (tmp_path / "pressure").mkdir()
    for name in ("cpu", "io", "memory"):
        (tmp_path / "pressure" / name).write_text(
            "some avg10=0.22 avg60=0.17 avg300=0.04 total=2500000\nfull ...\n"
        )
    assert read_counts(tmp_path, lambda: 7.0).waiting_s == {"cpu": 2.5, "io": 2.5, "memory": 2.5}
