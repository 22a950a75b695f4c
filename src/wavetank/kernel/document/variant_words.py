"""A variant's certificate for people."""

from __future__ import annotations

from wavetank.kernel.document.variant import CheckedFile, Variant
from wavetank.model.tables.table import ModelTable, ranks_text
from wavetank.units import format_size


def calls_words(variant: Variant) -> str:
    """Calls that move data before and after: "246 -> 2", or "32, the same"."""
    if variant.calls == variant.new_calls:
        return f"{variant.calls:,}, the same"
    return f"{variant.calls:,} -> {variant.new_calls:,}"


def phases_words(variant: Variant) -> str:
    """Phases of the kernel as it is that differ; those that only MPI-IO hints touch do not."""
    numbers = sorted({ph_id for phase in variant.phases for ph_id in phase.ph_ids})
    return ranks_text(numbers) if numbers else "none"


def file_words(file: CheckedFile) -> str:
    """What was compared of a file, as a sentence without a full stop."""
    parts = len(file.new_names)
    held = f" in {parts:,} files: {file.regions}" if file.new_names != (file.name,) else ""
    regions = "" if held else f", regions {file.regions}"
    return (
        f"{file.name}{held}: {format_size(file.read_bytes)} read and {format_size(file.written_bytes)} written in both"
        f"{regions}"
    )


def variant_tables(variant: Variant | None) -> tuple[ModelTable, ...]:
    """The tables of a certificate; none of the application's own kernel."""
    if variant is None:
        return ()
    phases = tuple(
        (
            ranks_text(one.ph_ids), ranks_text(one.new_ph_ids), one.operations, one.new_operations, one.calls,
            one.new_calls, one.bytes,
        )
        for one in variant.phases
    )  # fmt: skip
    files = tuple(
        (one.name, len(one.new_names), one.read_bytes, one.written_bytes, one.regions)
        for one in variant.files
    )
    summary = (
        ("setting", variant.setting),
        ("change", variant.words()),
        *([("hints", ", ".join(variant.hints))] if variant.hints else []),
        ("calls that move data", calls_words(variant)),
        *(("note", note) for note in variant.notes),
    )
    tables = [ModelTable("Variant", ("what", "value"), summary, summary)]
    if phases:
        tables.append(
            ModelTable(
                "Phases that the variant changes",
                ("phases", "new_phases", "operations", "new_operations", "calls", "new_calls", "bytes"),
                phases,
                tuple(tuple(map(str, row)) for row in phases),
                "The bytes are the same in both.",
            )
        )  # fmt: skip
    if files:
        tables.append(
            ModelTable(
                "Files compared",
                ("file", "files_now", "read_bytes", "written_bytes", "regions"),
                files,
                tuple(tuple(map(str, row)) for row in files),
                "Bytes and regions of both kernels were counted and are the same.",
            )
        )
    return tuple(tables)
