"""The tables of variants: gains, certificates, and knobs that were not turned."""

from __future__ import annotations

from wavetank.compare.comparison import Comparison
from wavetank.compare.what_if import all_gains, change_words, is_gain
from wavetank.compare.what_if_record import WhatIf
from wavetank.kernel.document.variant_words import calls_words, file_words, phases_words
from wavetank.report.tables.table import Column, ReportTable, estimated, few, number, text
from wavetank.units import format_duration


def what_if_tables(comparison: Comparison, application: str) -> tuple[ReportTable, ...]:
    """The tables of one application; none where no variant was asked for."""
    found = next((each for each in comparison.what_if if each.application == application), None)
    if found is None:
        return ()
    tables = (_gains(found), _certificates(found), _not_turned(comparison, found))
    return tuple(table for table in tables if table.rows)


def _gains(found: WhatIf) -> ReportTable:
    every = list(all_gains(found))
    scale = max(
        (of.high or of.median for _, gain in every for of in (gain.before_s, gain.after_s)),
        default=0.0,
    )
    titles = {each.application: each.certificate.words() for each in found.variants}
    rows = tuple(
        (
            text(variant.certificate.words()),
            text(gain.cluster_title),
            text(gain.mapping),
            estimated(gain.before_s, format_duration, scale),
            estimated(gain.after_s, format_duration, scale),
            number(gain.change_percent.median, change_words(gain), strong=is_gain(gain)),
            text(", ".join(titles[name] for name in gain.ties_with) if is_gain(gain) else ""),
        )
        for variant, gain in every
    )
    return ReportTable(
        name="what-if",
        title="What if: one knob of the application turned",
        columns=(
            Column("change", "Change", wide=True),
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("io_time_s", "As it is", numeric=True, help="I/O time of the application"),
            Column("variant_io_time_s", "With the change", numeric=True, help="I/O time"),
            Column(
                "change_percent", "Difference", numeric=True, help="below 0 the change makes it faster"
            ),
            Column(
                "ties_with", "Not told apart from", help="other changes that gain there"
            ),
        ),
        rows=rows,
        caption="Each change is made alone, and moves the same bytes of the same files or of their parts.",
        filterable=len(rows) > 12,
    )  # fmt: skip


def _certificates(found: WhatIf) -> ReportTable:
    rows = tuple(
        (
            text(told.setting),
            text(told.words()),
            text(phases_words(told)),
            number(told.new_calls, calls_words(told)),
            text(
                f"{len(told.files)} {'file' if len(told.files) == 1 else 'files'} compared",
                few([*map(file_words, told.files), *told.notes]),
            ),
        )
        for told in (each.certificate for each in found.variants)
    )
    return ReportTable(
        name="what-if-certificates",
        title="What each variant changes",
        columns=(
            Column("setting", "Setting"),
            Column("change", "Change", wide=True),
            Column("phases", "Phases"),
            Column("new_calls", "Calls", numeric=True, help="that move data, of all ranks"),
            Column("files", "Bytes and regions", help="of both kernels"),
        ),
        rows=rows,
        caption="Counted in both kernels. A variant that does not move the same bytes is not measured.",
    )


def _not_turned(comparison: Comparison, found: WhatIf) -> ReportTable:
    rows = [
        (text(each.setting), text("any"), text("any"), text(each.reason))
        for each in found.not_applying
    ]
    rows += [
        (
            text(variant.certificate.setting),
            text(comparison.title_of(each.cluster)),
            text(each.mapping),
            text(each.reason),
        )
        for variant in found.variants
        for each in variant.not_measured
    ]
    return ReportTable(
        name="what-if-not-turned",
        title="Knobs that were not turned",
        columns=(
            Column("setting", "Setting"),
            Column("cluster", "Cluster"),
            Column("mapping", "Mapping"),
            Column("reason", "Reason", wide=True),
        ),
        rows=tuple(rows),
    )
