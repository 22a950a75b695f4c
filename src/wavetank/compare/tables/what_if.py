"""Variants: what each gains where, what it changes, and which knobs were not turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.compare.comparison import Comparison
from wavetank.compare.tables.where import application_column, hidden
from wavetank.compare.what_if import all_gains, change_words, is_gain
from wavetank.compare.what_if_record import Gain, VariantGains, WhatIf
from wavetank.kernel.document.variant_words import calls_words, file_words, phases_words
from wavetank.tables.table import Cell, Column, Definition, Table, text
from wavetank.tables.words import few


@dataclass(frozen=True)
class _Gain:
    found: WhatIf
    variant: VariantGains
    gain: Gain


def _change(item: _Gain) -> Cell:
    change = item.gain.change_percent
    ends = None if change.low is None or change.high is None else (change.low, change.high)
    return Cell(change_words(item.gain), change.median, ends, strong=is_gain(item.gain))


def _ties(item: _Gain) -> Cell:
    titles = {each.application: each.certificate.words() for each in item.found.variants}
    ties = item.gain.ties_with
    return Cell(", ".join(titles[name] for name in ties) if is_gain(item.gain) else "", list(ties))


GAINS: Definition[_Gain] = Definition(
    "what-if",
    "What if: one knob turned",
    (
        application_column(lambda i: i.found.application),
        Column("setting", "Setting", lambda i: i.variant.certificate.setting, machine=True),
        Column("knob", "Knob", lambda i: i.variant.certificate.knob, machine=True),
        Column("of", "Of", lambda i: i.variant.certificate.of, machine=True, help="application, or layout of files"),
        Column("before", "From", lambda i: i.gain.before or i.variant.certificate.before, machine=True),
        Column("after", "To", lambda i: i.variant.certificate.after, machine=True),
        Column("change", "Change", lambda i: i.variant.change_on(i.gain), wide=True),
        Column("cluster", "Cluster's name", lambda i: i.gain.cluster, machine=True),
        Column("title", "Cluster", lambda i: i.gain.cluster_title, wide=True),
        Column("mapping", "Mapping", lambda i: i.gain.mapping),
        Column("io_time_s", "As it is", lambda i: i.gain.before_s, unit="s", spread=True, drawn="time",
               help="I/O time of the application"),
        Column("variant_io_time_s", "With the change", lambda i: i.gain.after_s, unit="s", spread=True, drawn="time",
               help="I/O time"),
        Column("change_percent", "Difference", _change, unit="change %", spread=True,
               help="below 0 the change makes it faster"),
        Column("told_apart", "Told apart", lambda i: i.gain.clear, kind="boolean", machine=True),
        Column("ties_with", "Not told apart from", _ties, kind="list", help="other changes that gain there"),
    ),
    key="what_if",
)  # fmt: skip

CERTIFICATES: Definition[tuple[WhatIf, VariantGains]] = Definition(
    "what-if-certificates",
    "What each variant changes",
    (
        application_column(lambda i: i[0].application),
        Column("setting", "Setting", lambda i: i[1].certificate.setting),
        Column("change", "Change", lambda i: i[1].certificate.words(), wide=True),
        Column("phases", "Phases", lambda i: phases_words(i[1].certificate)),
        Column("calls", "Calls before", lambda i: i[1].certificate.calls, kind="integer", machine=True),
        Column("new_calls", "Calls", lambda i: Cell(calls_words(i[1].certificate), i[1].certificate.new_calls), kind="integer",
               help="that move data, of all ranks"),
        Column("read_bytes", "Read", lambda i: sum(file.read_bytes for file in i[1].certificate.files), unit="B", machine=True),
        Column("written_bytes", "Written", lambda i: sum(file.written_bytes for file in i[1].certificate.files), unit="B",
               machine=True),
        Column("hints", "Hints", lambda i: list(i[1].certificate.hints), kind="list", wide=True),
        Column("compared", "Bytes and regions", lambda i: text(
            f"{len(i[1].certificate.files)} {'file' if len(i[1].certificate.files) == 1 else 'files'} compared",
            few([*map(file_words, i[1].certificate.files), *i[1].certificate.notes]),
        ), help="of both kernels", people=True),
        Column("files", "Files", lambda i: list(map(file_words, i[1].certificate.files)), kind="list", machine=True),
        Column("notes", "Notes", lambda i: list(i[1].certificate.notes), kind="list", machine=True),
    ),
    key="what_each_variant_changes",
)  # fmt: skip

_Refused = tuple[str, str, str, str, str]  # application, setting, cluster, mapping, reason

NOT_TURNED: Definition[_Refused] = Definition(
    "what-if-not-turned",
    "Knobs that were not turned",
    (
        application_column(lambda i: i[0]),
        Column("setting", "Setting", lambda i: i[1]),
        Column("title", "Cluster", lambda i: Cell(i[2] or "any", i[2] or None)),
        Column("mapping", "Mapping", lambda i: Cell(i[3] or "any", i[3] or None)),
        Column("reason", "Reason", lambda i: i[4], wide=True),
    ),
    key="knobs_that_were_not_turned",
)


def what_if_tables(comparison: Comparison, application: str | None = None) -> tuple[Table, ...]:
    """The tables of one application or of all; none where no variant was asked for."""
    found = [each for each in comparison.what_if if application in (None, each.application)]
    shown = hidden(each.application for each in found)
    gains = [_Gain(each, variant, gain) for each in found for variant, gain in all_gains(each)]
    tables = (
        GAINS.table(
            gains,
            caption="Each change is made alone, and moves the same bytes of the same files or of their parts.",
            columns=shown,
        ),
        CERTIFICATES.table(
            [(each, variant) for each in found for variant in each.variants],
            caption="Counted in both kernels. A variant that does not move the same bytes is not measured.",
            columns=shown,
        ),
        NOT_TURNED.table(_refused(comparison, found), columns=shown),
    )
    return tuple(table for table in tables if table.rows)


def _refused(comparison: Comparison, found: Sequence[WhatIf]) -> list[_Refused]:
    rows: list[_Refused] = []
    for one in found:
        rows += [(one.application, each.setting, "", "", each.reason) for each in one.not_applying]
        rows += [
            (
                one.application, variant.certificate.setting, comparison.title_of(each.cluster), each.mapping, each.reason,
            )
            for variant in one.variants
            for each in variant.not_measured
        ]  # fmt: skip
    return rows
