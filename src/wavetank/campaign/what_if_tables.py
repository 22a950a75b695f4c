"""Plain rows of variants: what each gains where, what it changes, and which knobs were not turned."""

from __future__ import annotations

from wavetank.campaign.rows import Cell, Rows
from wavetank.compare.comparison import Comparison
from wavetank.compare.what_if import all_gains, change_words
from wavetank.compare.words import show
from wavetank.kernel.document.variant_words import calls_words, file_words, phases_words


def gain_rows(comparison: Comparison) -> Rows:
    """Every variant beside the application as it is, on every cluster and mapping; largest gain first."""
    rows: list[list[Cell]] = []
    shown = []
    for found in comparison.what_if:
        for variant, gain in all_gains(found):
            before, after, change = gain.before_s, gain.after_s, gain.change_percent
            told = variant.certificate
            rows.append(
                [
                    found.application, told.setting, told.knob, told.before, told.after, gain.cluster,
                    gain.cluster_title, gain.mapping, before.median, before.low, before.high,
                    after.median, after.low, after.high, change.median, change.low, change.high, gain.clear,
                    "; ".join(gain.ties_with),
                ]
            )  # fmt: skip
            shown.append(
                [
                    found.application, told.words(), gain.cluster_title, gain.mapping, show(before, "time"),
                    show(after, "time"), change_words(gain),
                ]
            )  # fmt: skip
    return Rows(
        "What if",
        (
            "application", "setting", "knob", "before", "after", "cluster", "title", "mapping",
            "io_time_s", "io_time_low_s", "io_time_high_s", "variant_io_time_s", "variant_io_time_low_s",
            "variant_io_time_high_s", "change_percent", "change_low_percent", "change_high_percent",
            "told_apart", "ties_with",
        ),
        rows,
        ("application", "change", "cluster", "mapping", "I/O time", "with the change", "difference"),
        shown,
        "One knob of the application turned each. Below 0 the change makes the I/O faster; the bytes are the same",
    )  # fmt: skip


def certificate_rows(comparison: Comparison) -> Rows:
    """What each variant changes, as it was counted."""
    rows: list[list[Cell]] = []
    shown = []
    for found in comparison.what_if:
        for variant in found.variants:
            told = variant.certificate
            phases = phases_words(told)
            rows.append(
                [
                    found.application, told.setting, phases, told.calls, told.new_calls,
                    sum(file.read_bytes for file in told.files), sum(file.written_bytes for file in told.files),
                    ", ".join(told.hints), " | ".join(map(file_words, told.files)), " | ".join(told.notes),
                ]
            )  # fmt: skip
            shown.append(
                [
                    found.application, told.setting, phases, calls_words(told), ", ".join(told.hints) or "-",
                    " ".join(told.notes) or "-",
                ]
            )  # fmt: skip
    return Rows(
        "What each variant changes",
        (
            "application", "setting", "phases", "calls", "new_calls", "read_bytes", "written_bytes", "hints",
            "files", "notes",
        ),
        rows,
        ("application", "setting", "phases", "calls", "hints", "notes"),
        shown,
    )  # fmt: skip


def not_turned_rows(comparison: Comparison) -> Rows:
    """Knobs that do not apply to an application, and places where a variant was not measured, each with its reason."""
    rows: list[list[Cell]] = []
    for found in comparison.what_if:
        rows += [
            [found.application, each.setting, "", "", each.reason] for each in found.not_applying
        ]
        rows += [
            [
                found.application, variant.certificate.setting, comparison.title_of(each.cluster), each.mapping,
                each.reason,
            ]
            for variant in found.variants
            for each in variant.not_measured
        ]  # fmt: skip
    return Rows(
        "Knobs that were not turned",
        ("application", "setting", "cluster", "mapping", "reason"),
        rows,
        ("application", "setting", "cluster", "mapping", "reason"),
        [[str(cell) or "any" for cell in row] for row in rows],
    )
