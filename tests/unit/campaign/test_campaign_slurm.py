"""A campaign through a batch system that is only pretended: what jobs do, and how they end."""

import signal
from pathlib import Path

import pytest
from campaign_fakes import APPLICATION, FakeObserver, facts, spec
from measure_fakes import FakeCluster, FakePerformer, Watch, abyss_result

from wavetank.campaign.plan import make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.slurm.backend import Patience, job_script, run_on_slurm
from wavetank.campaign.slurm.queue import (
    QueuedJob,
    SlurmUnreachableError,
    check_options,
)
from wavetank.campaign.slurm.task import TaskFolder
from wavetank.campaign.spec import Budget, SearchRule, UntilRule
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import MeasurementError
from wavetank.measure.perform import RawOutput
from wavetank.measure.run import measure, set_up


class FakeSlurm:
    """Runs one job at each look at the queue, the oldest first.

    ``ends`` says how jobs end, by their number; all others are completed. ``limit`` jobs are
    accepted at once. ``away`` looks at the queue are not answered.
    """

    def __init__(self, ends=None, *, limit=100, away=0, refusal=None, watch=None):
        self.ends = ends or {}
        self.limit, self.away, self.refusal = limit, away, refusal
        self.watch = watch
        self.queued = {}
        self.submitted = []
        self.cancelled = []
        self.ended = {}

    def submit(self, job):
        if self.refusal is not None:
            raise MeasurementError(f"sbatch ended with status 1: {self.refusal}")
        if len(self.queued) >= self.limit:
            raise MeasurementError("sbatch ended with status 1: QOSMaxSubmitJobPerUserLimit")
        self.submitted.append(job)
        job_id = str(len(self.submitted))
        self.queued[job_id] = job
        return job_id

    def jobs(self, name):
        if self.away > 0:
            self.away -= 1
            raise SlurmUnreachableError("squeue: Unable to contact slurm controller")
        if self.queued:
            self._run(next(iter(self.queued)))
        assert all(job.name == name for job in self.queued.values())
        return [
            QueuedJob(job_id, job.task, "RUNNING" if place == 0 else "PENDING")
            for place, (job_id, job) in enumerate(self.queued.items())
        ]

    def _run(self, job_id):
        job = self.queued.pop(job_id)
        end = self.ends.get(int(job_id), "COMPLETED")
        self.ended[job_id] = end
        if end == "COMPLETED":
            perform(Path(job.folder), self.watch)

    def end_of(self, job_id):
        return f"ended as {self.ended.get(job_id, 'CANCELLED')}"

    def cancel(self, job_ids):
        for job_id in list(job_ids):
            self.cancelled.append(job_id)
            self.queued.pop(job_id, None)

    def version(self):
        return "22.05.8"


def perform(path, watch=None):
    """What a job does, on a cluster that only remembers."""
    folder = TaskFolder(path)
    task = folder.task()
    bench = set_up(APPLICATION.kernel, FakeCluster(task.cluster.name))
    done = measure(
        bench,
        task.mapping,
        FakePerformer(abyss_result(APPLICATION.kernel)),
        repetition=task.repetition,
        order=task.order,
        cache=task.cache,
        seed=task.seed,
        watch=watch,
    )
    folder.leave(done, RawOutput("out of the replay", "warnings"), 5.0)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds

    def patience(self):
        return Patience(sleep=self.sleep, clock=lambda: self.now)


def cluster(name, tmp_path):
    return ClusterSpec.model_validate(
        {
            "name": name,
            "provider": "null",
            "instance": {"name": "c3.2xlarge", "vcpus": 8},
            "nodes": {"compute": 2},
            "file_system": {"kind": "existing", "path": str(tmp_path)},
        }
    )


@pytest.fixture
def run(tmp_path):
    observer = FakeObserver()

    def on(slurm, asked, *names, prices=None, fresh=False):
        plan = make_plan(asked, [APPLICATION], [facts(name) for name in names or ("a", "b")])
        with write_store(tmp_path / "out") as store:
            APPLICATION.kernel.write(tmp_path / "k.json")
            outcome = run_on_slurm(
                asked,
                plan,
                store,
                clusters=[cluster(name, tmp_path) for name in names or ("a", "b")],
                queue=slurm,
                observer=observer,
                options=asked.sbatch_options,
                prices=prices,
                fresh=fresh,
                patience=Time().patience(),
            )
            return outcome, store.entries(), store.failures(), observer

    return on


def test_every_measurement_is_a_job_and_its_raw_output_is_kept(run, tmp_path):
    slurm = FakeSlurm()
    outcome, entries, failures, _ = run(slurm, spec())
    # two clusters, two mappings, three repetitions
    assert (outcome.n_measured, outcome.n_failed, len(entries)) == (12, 0, 12)
    assert failures == []
    assert all(entry.has_raw_output and entry.spent_s == 5.0 for entry in entries)
    assert all(job.n_nodes == 2 for job in slurm.submitted)
    assert not (tmp_path / "out" / "jobs").exists()


def test_each_round_holds_every_cluster_and_mapping_once(run):
    slurm = FakeSlurm()
    _, entries, _, _ = run(slurm, spec())
    for n in range(3):
        rounds = entries[4 * n : 4 * n + 4]
        assert {each.measurement.repetition for each in rounds} == {n}
        kinds = {(each.measurement.cluster, each.measurement.mapping) for each in rounds}
        assert len(kinds) == 4


@pytest.mark.parametrize("end", ["COMPLETED", "FAILED"])
def test_a_search_submits_a_round_when_the_one_before_is_decided(run, end):
    slurm = FakeSlurm({3: end}, limit=8)
    asked = spec(mappings=("1PxCN",), repetitions=None, strategy=SearchRule(kind="search"))
    outcome, entries, _, _ = run(slurm, asked, *"abcdefghij")
    n_failed = int(end == "FAILED")
    assert (outcome.n_measured, outcome.n_failed) == (22 - n_failed, n_failed)
    repetitions = [each.measurement.repetition for each in entries]
    assert repetitions == sorted(repetitions)
    assert [repetitions.count(n) for n in range(6)] == [10 - n_failed, 4, 2, 2, 2, 2]
    assert slurm.cancelled == []


def test_options_of_the_user_reach_every_job(run):
    slurm = FakeSlurm()
    run(slurm, spec(sbatch_options=("--partition=short", "--account=x")))
    assert {job.options for job in slurm.submitted} == {("--partition=short", "--account=x")}


@pytest.mark.parametrize("end", ["TIMEOUT", "CANCELLED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"])
def test_a_job_without_a_result_is_recorded_with_how_it_ended_and_tried_again(run, end):
    outcome, entries, failures, _ = run(FakeSlurm({2: end}), spec())
    assert (outcome.n_measured, outcome.n_failed) == (11, 1)
    assert f"Slurm job 2 ended as {end}" in failures[0].reason
    again = FakeSlurm()
    outcome, entries, failures, _ = run(again, spec())
    assert (outcome.n_measured, len(again.submitted), len(entries)) == (1, 1, 12)
    assert failures == []


def test_a_cluster_whose_jobs_fail_is_given_up_and_its_jobs_are_cancelled(run):
    slurm = FakeSlurm(dict.fromkeys(range(1, 100), "FAILED"))
    outcome, entries, failures, _ = run(slurm, spec(), "a")
    assert entries == []
    assert outcome.n_failed == 6
    assert len(slurm.ended) == 3  # failures in a row
    assert len(slurm.cancelled) == 3
    assert any("given up after 3 failures" in failure.reason for failure in failures)


def test_a_job_that_slurm_refuses_is_recorded_in_its_words(run):
    outcome, _, failures, _ = run(FakeSlurm(refusal="invalid partition"), spec(), "a")
    assert outcome.n_failed == 6
    assert "invalid partition" in failures[0].reason


def test_what_other_work_on_the_nodes_disturbed_is_recorded_and_not_made_again(run):
    slurm = FakeSlurm(watch=Watch(0, 3))
    outcome, entries, _, _ = run(slurm, spec())
    assert (outcome.n_measured, len(slurm.submitted)) == (12, 12)
    assert sum(bool(entry.measurement.load.disturbed) for entry in entries) == 2


def test_two_jobs_that_end_at_one_look_when_their_cluster_is_given_up(run):
    slurm = FakeSlurm(dict.fromkeys(range(1, 100), "FAILED"))
    looked = slurm.jobs

    def jobs(name):  # all that are in the queue end before the first look
        while slurm.queued:
            slurm._run(next(iter(slurm.queued)))
        return looked(name)

    slurm.jobs = jobs
    outcome, _, failures, _ = run(slurm, spec(), "a")
    assert outcome.n_failed == 6
    assert any("given up after 3 failures" in failure.reason for failure in failures)


def test_a_sites_limit_of_jobs_is_waited_for(run):
    slurm = FakeSlurm(limit=2)
    outcome, entries, _, _ = run(slurm, spec())
    assert (outcome.n_measured, outcome.n_failed, len(entries)) == (12, 0, 12)


def test_jobs_that_a_killed_run_left_are_gone_on_with(run):
    slurm, asked = FakeSlurm(), spec()
    original, calls = slurm.jobs, []

    def jobs(name):
        calls.append(name)
        if len(calls) > 3:  # a controller that never comes back: the jobs are left as by a kill
            raise SlurmUnreachableError("gone")
        return original(name)

    slurm.jobs = jobs
    with pytest.raises(SlurmUnreachableError, match="run the same command again"):
        run(slurm, asked)
    assert len(slurm.submitted) == 12
    slurm.jobs = original
    slurm._run(next(iter(slurm.queued)))  # one more ends while nobody looks
    _, entries, _, observer = run(slurm, asked)
    assert len(entries) == 12
    assert len(slurm.submitted) == 12
    assert any("of an earlier run are in the queue" in text for text in observer.said)


def test_a_controller_that_is_away_for_a_while_is_waited_for(run):
    slurm = FakeSlurm()

    def after_submission(job, submit=slurm.submit):
        if not slurm.submitted:
            slurm.away = 3
        return submit(job)

    slurm.submit = after_submission
    outcome, entries, _, observer = run(slurm, spec())
    assert (outcome.n_measured, len(entries)) == (12, 12)
    assert sum("waiting for Slurm" in text for text in observer.said) == 3


def test_what_a_stop_rule_makes_needless_is_cancelled_or_never_submitted(run):
    asked = spec(
        repetitions=2, strategy=UntilRule(kind="until", width=0.5, at_most=10), mappings=("1PxCN",)
    )
    slurm = FakeSlurm()
    _, entries, failures, _ = run(slurm, asked, "a")
    # equal repetitions: two are enough, the third was running when the second ended
    assert 2 <= len(entries) <= 3
    assert failures == []
    assert len(slurm.cancelled) >= 7


def test_a_time_budget_holds_back_jobs(run):
    asked = spec(budget=Budget(time=12.0), mappings=("1PxCN",))
    slurm = FakeSlurm()
    outcome, entries, failures, _ = run(slurm, asked, "a")
    # each takes 5 s by what the job says: two fit into 12 s
    assert len(entries) == 2
    assert outcome.n_not_afforded == 1
    assert "budget" in failures[0].reason


def test_an_interruption_cancels_every_job(run, tmp_path):
    slurm = FakeSlurm()
    original = slurm.jobs
    calls = []

    def jobs(name):
        calls.append(name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(name)

    slurm.jobs = jobs
    with pytest.raises(KeyboardInterrupt):
        run(slurm, spec())
    assert slurm.queued == {}
    assert not (tmp_path / "out" / "jobs").exists()


def test_a_job_that_was_just_submitted_when_the_user_interrupts_is_cancelled_too(run):
    slurm = FakeSlurm()
    original = slurm.submit

    def submit(job):
        job_id = original(job)  # it is in the queue; its number is still on the way here
        if len(slurm.submitted) == 3:
            signal.raise_signal(signal.SIGINT)
        return job_id

    slurm.submit = submit
    with pytest.raises(KeyboardInterrupt):
        run(slurm, spec())
    assert len(slurm.submitted) == 3
    assert set(slurm.cancelled) == {"1", "2", "3"}


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        ("--partition=short", False),
        ("-pshort", False),
        ("--mem=0", False),
        ("partition=short", True),
        ("--array=1-3", True),
        ("-o/dev/null", True),
        ("--wrap=rm", True),
        ("", True),
    ],
)
def test_options_that_would_break_a_campaign_are_refused(option, wrong):
    assert bool(check_options([option])) is wrong


def test_a_job_script_quotes_its_folder():
    assert "wavetank job '/a b/$(touch x)'" in job_script(Path("/a b/$(touch x)"))


def test_a_fresh_campaign_cancels_the_jobs_of_an_earlier_one(run):
    slurm = FakeSlurm()
    original, calls = slurm.jobs, []

    def jobs(name):
        calls.append(name)
        if len(calls) > 1:
            raise SlurmUnreachableError("gone")
        return original(name)

    slurm.jobs = jobs
    with pytest.raises(SlurmUnreachableError):
        run(slurm, spec())
    left = set(slurm.queued)
    slurm.jobs = original
    _, entries, _, _ = run(slurm, spec(), fresh=True)
    assert len(entries) == 12
    # the fake runs one job at each look, also at the first
    assert len(left & set(slurm.cancelled)) == 11
    assert len(slurm.submitted) == 24
