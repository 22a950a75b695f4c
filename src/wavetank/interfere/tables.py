"""Tables of an interference study, each defined once: `results` and the report show the same ones."""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.compare.comparison import Comparison
from wavetank.compare.interference import (
    Divergence,
    GroupRates,
    Interference,
    Setting,
    Slowdown,
)
from wavetank.compare.tables.left_out import advice_table, not_measured_table
from wavetank.interfere.advice import at_words, neighbours_words, offset_words
from wavetank.measure.statistics import Estimate
from wavetank.tables.table import Cell, Column, Definition, Table, estimated
from wavetank.tables.words import DASH
from wavetank.units import format_duration, format_rate


@dataclass(frozen=True)
class _Group:
    """A group in a setting."""

    comparison: Comparison
    setting: Setting
    group: GroupRates

    @property
    def name(self) -> str:
        """The group; two of the same are told apart by numbers."""
        alike = [each for each in self.setting.groups if each.group == self.group.group]
        number = "" if len(alike) == 1 else f" ({self.group.instance + 1})"
        return self.group.group + number


def _percentile(key: str, title: str) -> Column[_Group]:
    return Column(
        key, title, lambda i: getattr(i.group.latency, key) if i.group.latency else None, unit="s"
    )


def _rate(
    key: str, title: str, of: str, *, combined: bool = False, help: str = ""
) -> Column[_Group]:
    return Column(
        key, title, lambda i: getattr(i.setting if combined else i.group, of), unit="B/s", spread=True, help=help
    )  # fmt: skip


def _varied(item: _Group) -> str:
    setting = item.setting
    if setting.offset_s is not None:
        return offset_words(setting.offset_s)
    if setting.interval_s is None:
        return DASH
    ratio = "" if setting.time_ratio is None else f" (ratio {setting.time_ratio:.2f})"
    return f"interval {_interval(setting.interval_s)}{ratio}"


def _interval(interval_s: float) -> str:
    return "0" if interval_s == 0 else format_duration(interval_s)


_GROUP: tuple[Column[_Group], ...] = (
    Column("point", "Run", lambda i: i.setting.point),
    Column("cluster", "Cluster's name", lambda i: i.setting.cluster, machine=True),
    Column("title", "Cluster", lambda i: i.comparison.title_of(i.setting.cluster)),
    Column("mapping", "Mapping", lambda i: i.setting.mapping),
    Column("object_bytes", "Objects of", lambda i: i.setting.object_bytes, unit="B"),
    Column("varied", "Varied", _varied, people=True),
    Column("interval_s", "Interval", lambda i: i.setting.interval_s, unit="s", machine=True),
    Column("time_ratio", "Time ratio", lambda i: i.setting.time_ratio, kind="number", machine=True),
    Column("offset_s", "Start", lambda i: i.setting.offset_s, unit="s", machine=True),
    Column("name", "Group", lambda i: i.name, people=True),
    Column("group", "Group", lambda i: i.group.group, machine=True),
    Column("instance", "Instance", lambda i: i.group.instance, kind="integer", machine=True),
)

RATES: Definition[_Group] = Definition(
    "study-rates",
    "Rates",
    (
        *_GROUP,
        Column("clients", "Clients", lambda i: i.group.n_clients, kind="integer", machine=True),
        _rate("rate_bytes_per_s", "Rate", "rate_bytes_per_s", help="bytes / time, pauses included"),
        _rate("io_rate_bytes_per_s", "While transferring", "io_rate_bytes_per_s", help="clients * bytes / time in operations"),
        _rate("combined_bytes_per_s", "Combined", "combined_bytes_per_s", combined=True),
        Column("combined_io_bytes_per_s", "Combined, while transferring",
               lambda i: i.setting.combined_io_bytes_per_s, unit="B/s", spread=True, machine=True),
        Column("objects", "Objects", lambda i: i.group.objects, kind="integer"),
        Column("object_s", "Time of an object", lambda i: i.group.object_s, unit="s", machine=True),
        Column("repetitions", "Repetitions", lambda i: i.setting.n_repetitions, kind="integer", machine=True),
        Column("window_s", "Window", lambda i: i.setting.window_s, unit="s", machine=True),
        Column("alignment_s", "Starts within", lambda i: i.setting.alignment_s, unit="s", machine=True),
    ),
    key="rates",
)  # fmt: skip

OBJECT_TIMES: Definition[_Group] = Definition(
    "study-object-times",
    "Time of an object",
    (
        *_GROUP,
        _percentile("p50_s", "50 %"),
        _percentile("p95_s", "95 %"),
        _percentile("p99_s", "99 %"),
        _percentile("max_s", "Longest"),
    ),
    key="time_of_an_object",
)


@dataclass(frozen=True)
class _Slowed:
    comparison: Comparison
    found: Interference
    each: Slowdown

    def speed(self, value: float) -> Cell:
        """A rate, or a time, as it was measured."""
        show = format_rate if self.each.measured_by == "rate" else format_duration
        return Cell(show(value), value)

    @property
    def names(self) -> tuple[str, str]:
        """The group and those beside it; two of the same are told apart by numbers."""
        each, beside = self.each, " and ".join(self.each.beside)
        if each.group not in each.beside:
            return each.group, beside
        return f"{each.group} ({each.instance + 1})", f"{beside} ({2 - each.instance})"

    @property
    def varied(self) -> str:
        """What was varied, and how far."""
        if self.each.offset_s is not None:
            return f"{self.found.moved} {offset_words(self.each.offset_s)}"
        interval_s = self.each.interval_s
        return DASH if interval_s is None else f"interval {_interval(interval_s)}"


def _slowdown(item: _Slowed) -> Cell:
    estimate: Estimate = item.each.slowdown
    return estimated(estimate, lambda value: f"{value:.2f}")


SLOWDOWNS: Definition[_Slowed] = Definition(
    "study-slowdowns",
    "Slowdown",
    (
        Column("cluster", "Cluster's name", lambda i: i.each.cluster, machine=True),
        Column("title", "Cluster", lambda i: i.comparison.title_of(i.each.cluster)),
        Column("mapping", "Mapping", lambda i: i.each.mapping),
        Column("object_bytes", "Objects of", lambda i: i.each.object_bytes, unit="B"),
        Column("name", "Group", lambda i: i.names[0], people=True),
        Column("group", "Group", lambda i: i.each.group, machine=True),
        Column("instance", "Instance", lambda i: i.each.instance, kind="integer", machine=True),
        Column("beside", "Beside", lambda i: Cell(i.names[1], list(i.each.beside)), kind="list"),
        Column("varied", "Varied", lambda i: i.varied, people=True),
        Column("interval_s", "Interval", lambda i: i.each.interval_s, unit="s", machine=True),
        Column("offset_s", "Start", lambda i: i.each.offset_s, unit="s", machine=True),
        Column("slowdown", "Slowdown", _slowdown, kind="number", spread=True),
        Column("alone", "Alone", lambda i: i.speed(i.each.alone), kind="number", help="bytes per second by rate, else seconds"),
        Column("together", "Together", lambda i: i.speed(i.each.together), kind="number"),
        Column("measured_by", "By", lambda i: i.each.measured_by),
    ),
    key="slowdown",
)  # fmt: skip

_Parting = tuple[Comparison, Divergence]


def _at(item: _Parting) -> Cell:
    each = item[1]
    return Cell(at_words(each), each.at)


def _change(item: _Parting) -> Cell:
    value = item[1].change_percent
    return Cell(DASH if value is None else f"{value:+.0f} %", value)


DIVERGENCES: Definition[_Parting] = Definition(
    "study-partings",
    "Where the bandwidths part",
    (
        Column("cluster", "Cluster's name", lambda i: i[1].cluster, machine=True),
        Column("title", "Cluster", lambda i: i[0].title_of(i[1].cluster)),
        Column("mapping", "Mapping", lambda i: i[1].mapping),
        Column("object_bytes", "Objects of", lambda i: i[1].object_bytes, unit="B"),
        Column("groups", "Groups", lambda i: f"{i[1].first} and {i[1].second}", people=True),
        Column("first", "Constant", lambda i: i[1].first, machine=True),
        Column("second", "Varied", lambda i: i[1].second, machine=True),
        Column("over", "Over", lambda i: i[1].over),
        Column("at", "At", _at, kind="number", help="seconds, or a ratio"),
        Column("at_low", "At least", lambda i: i[1].low, kind="number", machine=True),
        Column("at_high", "At most", lambda i: i[1].high, kind="number", machine=True),
        Column("measured", "Measured at", lambda i: neighbours_words(i[1]), people=True),
        Column("measured_below", "Measured below", lambda i: i[1].measured_below, kind="number", machine=True),
        Column("measured_above", "Measured above", lambda i: i[1].measured_above, kind="number", machine=True),
        Column("change_percent", "Change", _change, unit="change %"),
        Column("why_not", "Why not", lambda i: Cell(i[1].why_not or "", i[1].why_not)),
    ),
    key="where_the_bandwidths_part",
)  # fmt: skip

DEFINITIONS = (RATES, OBJECT_TIMES, SLOWDOWNS, DIVERGENCES)


def study_tables(comparison: Comparison, found: Interference) -> list[Table]:
    """Slowdowns, where bandwidths part, rates, times of objects: those that have something to say."""
    groups = [
        _Group(comparison, setting, group) for setting in found.settings for group in setting.groups
    ]
    tables = [
        SLOWDOWNS.table(
            [_Slowed(comparison, found, each) for each in found.slowdowns],
            caption="Time together / time alone; by rate: rate alone / rate together.",
        ),
        DIVERGENCES.table([(comparison, each) for each in found.divergences]),
        RATES.table(
            groups,
            caption="Rate: bytes / time, pauses included; while transferring: clients * bytes / time in "
            "operations. Both in the time in which all groups are active.",
        ),
        OBJECT_TIMES.table([item for item in groups if item.group.latency is not None]),
    ]
    return [table for table in tables if table.rows]


def all_study_tables(comparison: Comparison, found: Interference) -> list[Table]:
    """Every table of a study that has something to say."""
    more = (advice_table(comparison), not_measured_table(comparison))
    return [*study_tables(comparison, found), *(table for table in more if table.rows)]
