"""Searches that need no machine: a plan over made-up clusters, and measurements with chosen I/O times."""

from campaign_fakes import APPLICATION, facts, spec
from measure_fakes import abyss_result

from wavetank.campaign.criterion import score_of
from wavetank.campaign.plan import make_plan
from wavetank.campaign.spec import SearchRule
from wavetank.campaign.strategy import Search

WRITE_S = 0.1
"""That every made-up measurement takes beside its read."""


def search_plan(n, *, prices=None, clusters=None, **more):
    """A search over n clusters a, b, c ... with one mapping, and its selection."""
    asked = spec(
        **(
            {"mappings": ("1PxCN",), "repetitions": None, "strategy": SearchRule(kind="search")}
            | more
        )
    )
    clusters = clusters or [facts(chr(ord("a") + index)) for index in range(n)]
    plan = make_plan(asked, [APPLICATION], clusters)
    return asked, plan, Search(plan, score_of(asked, plan, prices))


def walk(plan, selection, time_of, guests=""):
    """Measure what a search asks for, in the order of the plan; the runs that were made.

    Clusters among ``guests`` are not comparable with hardware.
    """
    made = []
    for run in plan.runs:
        if run.key not in selection.not_needed and selection.is_ready(run):
            selection.learn(run.key, time_of(run), comparable=run.cluster not in guests)
            made.append(run)
    return made


class Timed:
    """Performs with an I/O time for each cluster, mapping and repetition; what it is about was just said."""

    def __init__(self, observer, time_of):
        self.observer = observer
        self.time_of = time_of
        self.measured = []

    def perform(self, kernel, root, placement):
        said = next(text for text in reversed(self.observer.said) if text.startswith("measuring"))
        cluster = said.split(" on ")[1].split(" with ")[0]
        self.measured.append(cluster)
        time_s = self.time_of(cluster)
        if isinstance(time_s, BaseException):
            raise time_s
        return abyss_result(kernel, read_s=time_s - WRITE_S)

    def versions(self):
        return {"openmpi": "fake"}
