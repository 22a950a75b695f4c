"""What the folder of an interference study says, also when the study was killed before it compared."""

from __future__ import annotations

from dataclasses import replace

from wavetank.campaign.clusters import read_cluster
from wavetank.campaign.database import COMPARISON
from wavetank.campaign.store import Store
from wavetank.campaign.stored_campaign import HowFar
from wavetank.compare.comparison import Comparison
from wavetank.errors import MeasurementError
from wavetank.interfere.comparison import compare_study
from wavetank.interfere.load import STUDY, load_study
from wavetank.interfere.plan import InterferePlan, forecast_s, make_plan
from wavetank.interfere.spec import InterfereSpec, read_interfere


def is_study(store: Store) -> bool:
    """Whether a folder of results is of an interference study."""
    return (store.folder / STUDY).is_file()


def current_study(store: Store) -> Comparison:
    """The comparison of all runs in the store: of the copies of the files that made them.

    Raises:
        MeasurementError: nothing was measured, or something in the folder is damaged.
        SpecError: a copy of the study's files is damaged.
    """
    if not store.together():
        raise MeasurementError(
            f"{store.folder} holds no runs: the study was stopped before its first run ended. Run "
            f"'wavetank interfere SPEC.yaml -o {store.folder}': it goes on where it was"
        )
    if (store.folder / COMPARISON).is_file():
        kept = store.comparison()
        counted = kept.interference
        if counted is not None and _n_runs(kept) == len(store.together()):
            return kept
    spec, plan = recalled_study_plan(store)
    return compare_study(spec, plan, store)


def recalled_study_plan(store: Store) -> tuple[InterfereSpec, InterferePlan]:
    """The study that a folder has copies of, and its plan.

    Raises:
        SpecError: a copy of the study's files is missing or damaged.
    """
    spec = read_interfere(store.folder / STUDY)
    loaded = load_study(spec, read_cluster)
    # What cannot come up on this machine now may have been measured on another.
    clusters = [replace(cluster, unavailable=None) for cluster in loaded.clusters]
    return spec, make_plan(spec, loaded.groups, clusters)


def how_far(store: Store, plan: InterferePlan) -> HowFar:
    """How far a study is whose plan was recalled."""
    done = set(store.together())
    n_done = sum(point.key in done for point in plan.points)
    left_s = forecast_s(plan, done)
    return HowFar("study", n_done, len(plan.points), "runs", left_s, ending=store.ending())


def _n_runs(comparison: Comparison) -> int:
    found = comparison.interference
    return 0 if found is None else sum(setting.n_repetitions for setting in found.settings)
