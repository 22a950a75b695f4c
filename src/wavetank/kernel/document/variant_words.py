"""A variant's certificate for people."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.kernel.document.variant import ChangedPhase, CheckedFile, Variant
from wavetank.tables.table import Cell, Column, Definition, Fact, Table, facts
from wavetank.tables.words import ranks_text
from wavetank.units import format_size

PHASES: Definition[ChangedPhase] = Definition(
    "variant-phases",
    "Phases that the variant changes",
    (
        Column("phases", "Phases", lambda i: _ids(i.ph_ids), kind="list"),
        Column("new_phases", "New phases", lambda i: _ids(i.new_ph_ids), kind="list"),
        Column("operations", "Operations", lambda i: i.operations),
        Column("new_operations", "New operations", lambda i: i.new_operations),
        Column("calls", "Calls", lambda i: i.calls, kind="integer"),
        Column("new_calls", "New calls", lambda i: i.new_calls, kind="integer"),
        Column("bytes", "Bytes", lambda i: i.bytes, unit="B"),
    ),
    key="phases_that_the_variant_changes",
)

FILES: Definition[CheckedFile] = Definition(
    "variant-files",
    "Files compared",
    (
        Column("file", "File", lambda i: i.name),
        Column("files_now", "Files now", lambda i: len(i.new_names), kind="integer"),
        Column("read_bytes", "Read", lambda i: i.read_bytes, unit="B"),
        Column("written_bytes", "Written", lambda i: i.written_bytes, unit="B"),
        Column("regions", "Regions", lambda i: i.regions),
    ),
    key="files_compared",
)

VARIANT = facts("variant", "Variant", "what", command="kernel")
DEFINITIONS = (VARIANT, PHASES, FILES)


def _ids(ids: Sequence[int]) -> Cell:
    return Cell(ranks_text(ids), list(ids))


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


def variant_tables(variant: Variant | None) -> list[Table]:
    """The tables of a certificate; none of the application's own kernel."""
    if variant is None:
        return []
    summary: list[Fact] = [
        ("setting", variant.setting),
        ("change", variant.words()),
        *([("hints", ", ".join(variant.hints))] if variant.hints else []),
        ("calls that move data", calls_words(variant)),
        *(("note", note) for note in variant.notes),
    ]
    tables = [
        VARIANT.table(summary),
        PHASES.table(variant.phases, caption="The bytes are the same in both."),
        FILES.table(
            variant.files,
            caption="Bytes and regions of both kernels were counted and are the same.",
        ),
    ]
    return [table for table in tables if table.rows]
