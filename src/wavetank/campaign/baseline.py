"""From a campaign's folder to a baseline: the repetitions that a check may test, and under which conditions they were made."""

from __future__ import annotations

from pathlib import Path

from wavetank.campaign.plan import Application, Plan
from wavetank.campaign.results_folder import open_store
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.stored_campaign import current_comparison, stored_plan
from wavetank.compare.baseline import Baseline, Kept
from wavetank.compare.configuration import Configuration
from wavetank.document import provenance
from wavetank.errors import MeasurementError


def read_baseline(path: Path) -> Baseline:
    """A baseline out of its file, or out of the results folder of a campaign.

    Raises:
        MeasurementError: there are no results, or they are damaged.
        SpecError: a copy of the campaign's files is damaged.
    """
    return baseline_of_folder(path) if path.is_dir() else Baseline.read(path)


def baseline_of_folder(folder: Path) -> Baseline:
    """What a campaign measured, as a baseline.

    Raises:
        MeasurementError: nothing was measured, or something in the folder is damaged.
        SpecError: a copy of the campaign's files is damaged.
    """
    with open_store(folder) as store:
        loaded, plan = stored_plan(store)
        comparison = current_comparison(store)
        if not comparison.configurations:
            raise MeasurementError(
                f"{folder} holds no finished measurement of its campaign. Run 'wavetank run' again: it goes on"
            )
        measured = [each.provenance for each in store.measurements()]
        return Baseline(
            provenance=provenance(),
            campaign=comparison.campaign,
            measured_utc=store.last_finished_utc() or comparison.provenance.created_utc,
            hosts=tuple(sorted({each.host.hostname for each in measured})),
            versions=tuple(sorted({each.tool_version for each in measured})),
            configurations=tuple(
                _kept(each, loaded.spec, plan) for each in comparison.configurations
            ),
        )


def _kept(each: Configuration, spec: CampaignSpec, plan: Plan) -> Kept:
    application = plan.application(each.application)
    times = each.io_time_s.values[: plan.repetitions]
    return Kept(
        application=each.application,
        cluster=each.cluster,
        cluster_title=each.cluster_title,
        mapping=each.mapping,
        kernel_sha256=application.kernel_sha256,
        performed=_performed(application, spec),
        cluster_sha256=plan.cluster(each.cluster).key,
        settings=each.settings,
        limits=each.limits,
        io_time_s=times,
        # Where the campaign file says how many, none is left out because of what others took.
        ended_early=spec.ends_what_is_futile and len(times) < plan.repetitions,
    )


def _performed(application: Application, spec: CampaignSpec) -> str:
    flush = "flush" if spec.flush else "no flush"
    return f"{application.program}, {spec.cache} caches, {flush}, pauses: {spec.pauses}"
