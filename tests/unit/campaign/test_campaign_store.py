import os
import signal
import subprocess
import sys

import pytest
from measure_fakes import FakeCluster, FakePerformer, abyss_kernel, abyss_result

from wavetank.campaign.database import DATABASE, file_stem
from wavetank.campaign.invocations import Ending
from wavetank.campaign.results_folder import forget, open_store, write_store
from wavetank.campaign.store import Failure, Key
from wavetank.errors import MeasurementError
from wavetank.measure.perform import RawOutput
from wavetank.measure.run import measure, set_up

KERNEL = abyss_kernel()


def made(repetition=0):
    bench = set_up(KERNEL, FakeCluster())
    return measure(
        bench, "1PxCN", FakePerformer(abyss_result), repetition=repetition, order=repetition
    )


def key(repetition=0, mapping="1PxCN"):
    return Key("k" * 64, "c" * 64, mapping, "cold", repetition)


def test_what_was_added_is_read_back_in_order(tmp_path):
    with write_store(tmp_path / "new") as store:
        for repetition in (2, 0, 1):
            store.add(made(repetition), key(repetition), 1.5)
    with open_store(tmp_path / "new") as store:
        assert [each.repetition for each in store.measurements()] == [2, 0, 1]
        assert store.done() == {key(0), key(1), key(2)}
        assert store.spent_s() == {"c" * 64: [1.5, 1.5, 1.5]}


def test_the_same_measurement_cannot_be_stored_twice(tmp_path):
    with write_store(tmp_path) as store:
        store.add(made(), key(), 1.0)
        with pytest.raises(MeasurementError, match="UNIQUE"):
            store.add(made(), key(), 1.0)


def test_a_second_writer_is_refused_and_told_who_writes(tmp_path):
    with (
        write_store(tmp_path),
        pytest.raises(MeasurementError, match=f"process {os.getpid()}"),
        write_store(tmp_path),
    ):
        pass


def test_readers_read_while_another_writes(tmp_path):
    with write_store(tmp_path) as writer, open_store(tmp_path) as reader:
        writer.add(made(), key(), 1.0)
        assert len(reader.measurements()) == 1


def test_the_lock_dies_with_its_owner_and_nothing_committed_is_lost(tmp_path):
    code = (
        "import sys, time\n"
        f"sys.path[:0] = {[str(path) for path in sys.path]!r}\n"
        "from pathlib import Path\n"
        "from test_campaign_store import key, made, write_store\n"
        f"with write_store(Path({str(tmp_path)!r})) as store:\n"
        "    store.add(made(), key(), 1.0)\n"
        "    print('added', flush=True)\n"
        "    time.sleep(100000)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "added\n"
        with pytest.raises(MeasurementError, match="another campaign"), write_store(tmp_path):
            pass
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    with write_store(tmp_path) as store:
        assert store.done() == {key()}


def test_failures_are_of_the_last_attempt(tmp_path):
    failure = Failure("a", "nfs", "1PxCN", "broken")
    with write_store(tmp_path) as store:
        store.add_failure(failure, 0)
        store.add_failure(failure, 1)
        assert store.failures() == [failure]
        store.forget_failures()
        assert store.failures() == []


def test_how_the_last_run_ended_is_kept_and_forgotten_by_the_next(tmp_path):
    with write_store(tmp_path) as store:
        assert store.ending() == Ending(False)
        marks = store.marks()
        store.end_invocation(2, 1)
        assert store.marks() != marks
    with open_store(tmp_path) as store:
        assert store.ending() == Ending(True, 2, 1)
    with write_store(tmp_path) as store:
        assert store.ending() == Ending(False)


def test_a_folder_without_results_is_said(tmp_path):
    with pytest.raises(MeasurementError, match="wavetank run"), open_store(tmp_path):
        pass


def test_a_file_that_is_no_database_is_said(tmp_path):
    (tmp_path / DATABASE).write_text("this is not a database, but it is long enough to be one" * 20)
    with pytest.raises(MeasurementError, match="not a database"), write_store(tmp_path):
        pass


def test_a_damaged_row_is_named(tmp_path):
    import sqlite3

    with write_store(tmp_path) as store:
        store.add(made(), key(), 1.0)
    connection = sqlite3.connect(tmp_path / DATABASE)
    with connection:
        connection.execute("UPDATE measurement SET document = '{\"schema\": 1'")
    connection.close()
    with open_store(tmp_path) as store, pytest.raises(MeasurementError, match=r"row 1 .* damaged"):
        store.measurements()


def test_forgetting_removes_every_result(tmp_path):
    with write_store(tmp_path) as store:
        store.add(made(), key(), 1.0)
        store.add_deployment("c", 3.0)
        forget(store)
        assert (store.done(), store.failures(), store.deployments_s()) == (set(), [], {})


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("ABYSS-P", "ABYSS-P"),
        ("a/b c", "a-b-c"),
        ("../x", "x"),
        ("", "unnamed"),
        ("...", "unnamed"),
    ],
)
def test_titles_become_file_names_that_stay_in_their_folder(title, stem):
    assert file_stem(title) == stem


def test_what_programs_wrote_is_kept_compressed_and_found_by_number(tmp_path):
    long = RawOutput(
        "wavetank-replay-result 1\n" + 10_000 * "0123456789", "a warning: \N{SNOWMAN}\n"
    )
    with write_store(tmp_path) as store:
        store.add(made(0), key(0), 1.0)
        store.add(made(1), key(1), 1.0, long)
    assert (tmp_path / DATABASE).stat().st_size < 100_000
    with open_store(tmp_path) as store:
        entries = store.entries()
        assert [each.has_raw_output for each in entries] == [False, True]
        assert store.raw_output(entries[1].number) == long
        with pytest.raises(MeasurementError, match="wavetank measurements"):
            store.raw_output(entries[0].number)


def test_a_measurement_and_its_raw_output_are_stored_both_or_neither(tmp_path):
    with write_store(tmp_path) as store:
        store._connection.execute("DROP TABLE raw_output")
        with pytest.raises(MeasurementError):
            store.add(made(), key(), 1.0, RawOutput("out", ""))
        assert store.done() == set()
