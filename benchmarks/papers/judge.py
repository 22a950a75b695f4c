"""Verdicts on the statements of a study: each holds, does not hold, or cannot be told.

A statement is an entry of ``statements.yaml``; README.md has its keys. A comparison is the ``comparison.json`` of a results folder.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace as Record
from typing import Any, NamedTuple

import wavetank
from wavetank.measure.rank_test import ratio_interval
from wavetank.units import format_duration, format_rate, format_size, parse_duration, parse_size

MOST_REASONS = 2
"""Reasons that are printed in full."""
NEAR = 2.0
"""An interval that reaches farther than this factor from a published point does not confirm it."""


class Finding(NamedTuple):
    """What one comparison says: as published (True), the opposite (False), or nothing (None). The heaviest reason is printed."""

    says: bool | None
    why: str = ""
    weight: float = 0.0


class Verdict(NamedTuple):
    """The word on a statement, the numbers found here, and the reason unless it holds."""

    statement: dict[str, Any]
    word: str
    here: str
    why: str


def read_comparison(folder: Path) -> Record | None:
    """The comparison in a results folder; None where nothing was measured."""
    path = folder / "comparison.json"
    if not path.is_file():
        return None
    return json.loads(path.read_text(), object_hook=lambda body: Record(**body))  # type: ignore[no-any-return]


def judge(study: dict[str, Any], folder: Path, comparison: Record | None) -> list[Verdict]:
    """A verdict for each statement of the study in a folder."""
    models = {
        each["name"]: Models([folder / file for file in each["files"]], each.get("factor", 1))
        for each in study.get("models", ())
    }
    judges: dict[str, Callable[[dict[str, Any]], tuple[list[Finding], str]]] = {
        "rows": lambda says: _rows(says, models[says["model"]])
    }
    if comparison is not None:
        pairs = Configurations(comparison)
        judges |= {
            "better": pairs.better,
            "no gain": pairs.no_gain,
            "strongest": pairs.strongest,
            "part": lambda says: _of_groups(_part, says, comparison),
            "higher rate": lambda says: _of_groups(_higher_rate, says, comparison),
        }
    nothing = [Finding(None, "nothing was measured")], ""
    return [
        _verdict(each, *judges.get(each["says"]["claim"], lambda _: nothing)(each["says"]))
        for each in study["statements"]
    ]


def _verdict(statement: dict[str, Any], findings: list[Finding], here: str) -> Verdict:
    """One finding that says the opposite refutes a statement, and all must agree to confirm it."""
    against = [each for each in findings if each.says is False]
    unknown = [each for each in findings if each.says is None]
    n = len(findings)
    if against:
        why = max(against, key=lambda each: each.weight).why
        share = f" ({len(against)} of {n} comparisons say the opposite)" if n > 1 else ""
        return Verdict(statement, "does not hold", here, why + share)
    if findings and not unknown:
        return Verdict(statement, "holds", here, "")
    reasons = list(dict.fromkeys(each.why for each in unknown))
    if len(reasons) > MOST_REASONS:
        reasons[MOST_REASONS:] = [f"{len(reasons) - MOST_REASONS} more of this kind"]
    if n > len(unknown):
        reasons.append(f"{n - len(unknown)} of {n} comparisons are as published")
    nothing = "the study compares nothing that the statement is about"
    return Verdict(statement, "cannot be told", here, "; ".join(reasons) or nothing)


def selects(selection: dict[str, Any], place: Record) -> bool:
    """Whether a selection names a configuration; what it does not name is any."""
    return all(
        getattr(place, key) in selection.get(f"{key}s", (getattr(place, key),))
        for key in ("cluster", "mapping")
    )


def title_of(comparison: Record, cluster: str) -> str:
    """A cluster for people."""
    return vars(comparison.titles).get(cluster) or next(
        (each.cluster_title for each in comparison.configurations if each.cluster == cluster),
        cluster,
    )


class Configurations:
    """Claims on configurations of a campaign, judged by the campaign's own rankings and by intervals of ratios."""

    def __init__(self, comparison: Record) -> None:
        self.comparison = comparison
        there = {_key(each) for each in comparison.configurations}
        missing = {_key(each): each for each in comparison.not_measured if _key(each) not in there}
        self.places = [*comparison.configurations, *missing.values()]
        self.applications = list(dict.fromkeys(each.application for each in self.places))

    def better(self, says: dict[str, Any]) -> tuple[list[Finding], str]:
        """Each of these is better than each of those."""
        pairs = list(self._pairs(says, says["these"], says["those"]))
        return [self._better(*pair, says) for pair in pairs], self._values(pairs, says)

    def no_gain(self, says: dict[str, Any]) -> tuple[list[Finding], str]:
        """None of those after is better than those before by more than ``at_most``."""
        pairs = list(self._pairs(says, says["before"], says["after"]))
        return [self._no_gain(*pair, says) for pair in pairs], self._values(pairs, says)

    def strongest(self, says: dict[str, Any]) -> tuple[list[Finding], str]:
        """One change matters more than each of some others, in either direction."""
        findings, told = [], []
        share = (1 - self.comparison.confidence) / (1 + len(says["others"]))
        for application in says.get("applications", self.applications):
            this, *others = (
                self._strength(change, application, says, 1 - share)
                for change in (says["this"], *says["others"])
            )
            told += [words for _, words in (this, *others) if words]
            findings += [_stronger(this[0], other) for other, _ in others]
        return findings, "; ".join(told)

    def _selected(self, application: str, selection: dict[str, Any]) -> list[Record]:
        return [
            each
            for each in self.places
            if each.application == application and selects(selection, each)
        ]

    def _pairs(
        self, says: dict[str, Any], these: dict[str, Any], those: dict[str, Any]
    ) -> Iterator[tuple[Record, Record]]:
        for application in says.get("applications", self.applications):
            for first, second in product(
                self._selected(application, these), self._selected(application, those)
            ):
                same = {
                    key: getattr(first, key) == getattr(second, key)
                    for key in ("mapping", "cluster")
                }
                asked = [same[key] for key in same if says.get(f"same_{key}")]
                if all(asked) and not all(same.values()):
                    yield first, second

    def _better(self, first: Record, second: Record, says: dict[str, Any]) -> Finding:
        times = self._times(first, second, says)
        if isinstance(times, Finding):
            return times
        _, median, high, sure = times
        names = self._name(first), self._name(second)
        if "times" in says:
            return _so_many_times(times, says["times"], names)
        if self._told_apart(first, second, says):
            return Finding(True) if median > 1 else self._opposite(second, first, 1 / median, says)
        least = self.comparison.smallest_difference
        if sure and high <= 1 + least:
            return Finding(
                False, f"{names[0]} is not better than {names[1]} by {100 * least:g} %", 1.0
            )
        return Finding(None, f"{names[0]} and {names[1]} are not told apart")

    def _no_gain(self, before: Record, after: Record, says: dict[str, Any]) -> Finding:
        gain = self._times(after, before, says)
        if isinstance(gain, Finding):
            return gain
        _, median, high, sure = gain
        apart, limit = self._told_apart(before, after, says), 1 + says.get("at_most", 0.1)
        if (apart and median < 1) or (sure and high <= limit):
            return Finding(True)
        if apart and median > limit:
            return self._opposite(after, before, median, says)
        return Finding(
            None, f"{self._name(after)} may gain {100 * (high - 1):.0f} % on {self._name(before)}"
        )

    def _strength(
        self, change: dict[str, Any], application: str, says: dict[str, Any], confidence: float
    ) -> tuple[tuple[float, float] | Finding, str]:
        """Ends of the size of a change, as logarithms, and the change in words."""
        before, after = (self._selected(application, change[key]) for key in ("before", "after"))
        if len(before) != 1 or len(after) != 1:
            return Finding(None, "a change is from one configuration to one other"), ""
        times = self._times(after[0], before[0], says, confidence)
        if isinstance(times, Finding):
            return times, ""
        low, median, high, sure = times
        words = f"{self._name(before[0])} to {self._name(after[0])}: {100 * (median - 1):+.0f} %"
        if not sure:
            return Finding(None, f"too few repetitions for {words}"), words
        ends = sorted((abs(math.log(low)), abs(math.log(high))))
        return (0.0 if low <= 1 <= high else ends[0], ends[1]), words

    def _times(
        self, first: Record, second: Record, says: dict[str, Any], confidence: float | None = None
    ) -> tuple[float, float, float, bool] | Finding:
        """How many times as good the first is: low, median, high, and whether the interval holds at the confidence."""
        values = []
        for place in (first, second):
            if not hasattr(place, "io_time_s"):
                return Finding(None, f"{self._name(place)} was not measured: {place.reason}")
            value = _quantity(place, says)
            if value is None or min(value.values) <= 0:
                return Finding(None, f"{self._name(place)} has no {_by(says)}")
            values.append(value)
        good, other = values if _by(says) == "ratio" else values[::-1]
        low, high, sure = ratio_interval(
            other.values, good.values, confidence or self.comparison.confidence
        )
        return low, good.median / other.median, high, sure

    def _told_apart(self, first: Record, second: Record, says: dict[str, Any]) -> bool:
        for ranking in self.comparison.rankings:
            ties = {each.configuration: each.ties_with for each in ranking.places}
            if ranking.by == _by(says) and first.id in ties:
                return second.id in ties and second.id not in ties[first.id]
        return False

    def _opposite(
        self, better: Record, worse: Record, times: float, says: dict[str, Any]
    ) -> Finding:
        """That one is better, and what each waited for where that is known."""
        words = {
            "time": "is {:.3g} times as fast as",
            "cost": "is {:.3g} times as cheap as",
            "ratio": "has {:.3g} times the performance-cost ratio of",
        }[_by(says)].format(times)
        waits = [
            f"{self._name(each)} waits for {each.use.whole.bottleneck.name}"
            for each in (better, worse)
            if each.use is not None and each.use.whole.bottleneck.verdict in {"resource", "latency"}
        ]
        return Finding(
            False,
            "; ".join([f"{self._name(better)} {words} {self._name(worse)}", *waits]),
            times,
        )

    def _name(self, place: Record) -> str:
        several = f"{place.application} on " if len(self.applications) > 1 else ""
        return f"{several}{title_of(self.comparison, place.cluster)} with {place.mapping}"

    def _values(self, pairs: list[tuple[Record, Record]], says: dict[str, Any]) -> str:
        once = {each.id: each for pair in pairs for each in pair if hasattr(each, "io_time_s")}
        return "; ".join(f"{self._name(each)}: {self._value(each, says)}" for each in once.values())

    def _value(self, place: Record, says: dict[str, Any]) -> str:
        if _by(says) == "time":
            return format_rate(place.rate_bytes_per_s.median)
        value = _quantity(place, says)
        if value is None:
            return "no price"
        currency = self.comparison.price.currency
        if _by(says) == "ratio":
            return f"{format_rate(1e6 * value.median)} per {currency}"
        return f"{value.median:.3g} {currency}"


def _key(place: Record) -> tuple[str, str, str]:
    return place.application, place.cluster, place.mapping


def _by(says: dict[str, Any]) -> str:
    return str(says.get("by", "time"))


def _quantity(place: Record, says: dict[str, Any]) -> Record | None:
    """The estimate that a claim is about; None where there is no price, or no data for a ratio."""
    if _by(says) == "time":
        return place.io_time_s
    if place.cost is None or (_by(says) == "ratio" and not place.weight_bytes):
        return None
    return place.cost.cost_tot if _by(says) == "cost" else place.cost.perf_cost


def _so_many_times(
    times: tuple[float, float, float, bool], wanted: float, names: tuple[str, str]
) -> Finding:
    low, median, high, sure = times
    found = f"{names[0]} is {median:.3g} times as good as {names[1]}"
    if sure and low >= wanted:
        return Finding(True)
    if sure and high < wanted:
        return Finding(False, f"{found}, not {wanted:g} times", wanted / median)
    return Finding(None, f"{found} [{low:.3g} to {high:.3g}]")


def _stronger(this: tuple[float, float] | Finding, other: tuple[float, float] | Finding) -> Finding:
    if isinstance(this, Finding):
        return this
    if isinstance(other, Finding):
        return other
    if this[0] > other[1]:
        return Finding(True)
    if this[1] < other[0]:
        return Finding(False, "another change is larger", other[0] - this[1])
    return Finding(None, "the intervals of the changes overlap")


def _of_groups(
    claim: Callable[..., tuple[list[Finding], str]], says: dict[str, Any], comparison: Record
) -> tuple[list[Finding], str]:
    findings, told = claim(says, comparison)
    missing = [
        Finding(None, f"{each.cluster} was not measured: {each.reason}")
        for each in comparison.not_measured
    ]
    return findings or missing, told


def _part(says: dict[str, Any], comparison: Record) -> tuple[list[Finding], str]:
    """The rates of two groups part where the paper says, as the interval of one of them grows."""
    findings, told = [], []
    words = format_duration if says["over"] == "interval" else "{:.3g}".format
    for point in comparison.interference.divergences:
        if point.over != says["over"] or point.object_bytes != parse_size(says["object_size"]):
            continue
        name = f"{title_of(comparison, point.cluster)} with {point.mapping}"
        if point.at is None or point.low is None or point.high is None:
            findings.append(Finding(None, f"{name}: {point.why_not or 'no point was found'}"))
            continue
        found = f"{words(point.at)} [{words(point.low)} to {words(point.high)}]"
        told.append(f"{name}: {found}")
        at = says["at"]
        said = f"on {name} they part at {found}, and the paper says {words(at)}"
        if not point.low <= at <= point.high:
            findings.append(Finding(False, said, abs(point.at - at)))
        elif point.low < at / NEAR or point.high > at * NEAR:
            findings.append(Finding(None, f"{said}: the interval holds much else"))
        else:
            findings.append(Finding(True))
    return findings, "; ".join(told)


def _higher_rate(says: dict[str, Any], comparison: Record) -> tuple[list[Finding], str]:
    """A group's rate is higher in one setting than in another one: the intervals do not overlap."""
    findings, told = [], []
    together = [each for each in comparison.interference.settings if each.point == "together"]
    for place in dict.fromkeys((each.cluster, each.mapping) for each in together):
        here = [each for each in together if (each.cluster, each.mapping) == place]
        name = f"{title_of(comparison, place[0])} with {place[1]}"
        this, than = _group_rate(says["this"], here), _group_rate(says["than"], here)
        if this is None or than is None:
            findings.append(Finding(None, f"{name}: a setting was not measured"))
            continue
        words = f"{format_rate(this.median)} against {format_rate(than.median)}"
        told.append(f"{name}: {words}")
        if this.low is None or than.low is None:
            findings.append(Finding(None, f"{name}: {words}, without intervals"))
        elif this.low > than.high:
            findings.append(Finding(True))
        elif this.high < than.low:
            findings.append(Finding(False, f"{name}: {words}", than.median / this.median))
        else:
            findings.append(Finding(None, f"{name}: {words}, with intervals that overlap"))
    return findings, "; ".join(told)


def _group_rate(what: dict[str, Any], settings: list[Record]) -> Record | None:
    for setting in settings:
        wanted = parse_size(what["object_size"]), parse_duration(what["interval"])
        if (setting.object_bytes, setting.interval_s or 0.0) != wanted:
            continue
        if "group" not in what:
            return setting.combined_io_bytes_per_s
        for group in setting.groups:
            if group.group == what["group"]:
                return group.io_rate_bytes_per_s
    return None


class Models:
    """Models of one application by the number of processes; a number that has no file is extrapolated."""

    def __init__(self, files: list[Path], factor: int) -> None:
        self.files, self.factor = files, factor
        self.known: dict[int, wavetank.Model] = {}

    def at(self, n: int) -> wavetank.Model | str:
        """The model at a number of processes, or why there is none."""
        if not self.known:
            self.known = {model.n_ranks: model for model in map(wavetank.open_model, self.files)}
        if n not in self.known:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "fitted.model.json"
                fit = [sys.executable, "-m", "wavetank", "fit", *map(str, self.files)]
                done = subprocess.run(  # noqa: PLW1510 - why it failed is a finding
                    [*fit, "--np", str(n), "-o", str(file)], capture_output=True, text=True
                )
                if done.returncode:
                    return done.stderr.strip()
                self.known[n] = wavetank.open_model(file)
        return self.known[n]


def _rows(says: dict[str, Any], models: Models) -> tuple[list[Finding], str]:
    """Each row of a printed table is what the model has at that number of processes."""
    findings, told = [], []
    for row in says["rows"]:
        model = models.at(row["np"])
        if isinstance(model, str):
            findings.append(Finding(None, f"np {row['np']}: {model}"))
            continue
        finding, words = _row(row, model, models.factor, says.get("tolerance", 0.02))
        findings.append(finding)
        told.append(words)
    return findings, "; ".join(told)


def _row(
    row: dict[str, Any], model: wavetank.Model, factor: int, tolerance: float
) -> tuple[Finding, str]:
    phases = [each for each in model.phases.records() if each["iop_type"] == [row["operation"]]]
    repetitions = sorted({each["ph_nrep"] for each in phases})
    requests = sorted({factor * _request(each) for each in phases})
    words = (
        f"np {row['np']}: {len(phases)} phases of {_listed(repetitions)} x {row['operation']}, "
        f"{_listed(map(format_size, requests))} each"
    )
    fields = {each["field"]: each["value"] for each in model.tables["application"].records()}
    sizes = [
        *(("requests", "request", each) for each in requests),
        ("bytes moved", "moved", factor * model.bytes_moved),
        ("capacity", "capacity", factor * fields["storage_capacity"]),
    ]
    wrong = []
    if len(phases) != row["phases"]:
        wrong.append(f"{row['phases']} phases are printed")
    if "repetitions" in row and repetitions != [row["repetitions"]]:
        wrong.append(f"{row['repetitions']} repetitions are printed")
    for what, key, found in sizes:
        printed = parse_size(row[key]) if key in row else found
        if abs(found - printed) > tolerance * printed:
            wrong.append(f"{what} of {format_size(found)}, and {format_size(printed)} are printed")
    if wrong:
        return Finding(False, f"{words}: {', '.join(wrong)}", float(len(wrong))), words
    return Finding(True), words


def _request(phase: dict[str, Any]) -> float:
    """Bytes of one operation; the mean where they differ."""
    if phase["rs_min"] == phase["rs_max"]:
        return float(phase["rs_max"])
    return float(phase["ph_weight"] / (phase["ph_np"] * phase["ph_nrep"]))


def _listed(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, values))) or "none"
