"""The certificate of a kernel as tables: phase by phase, what differs, what the kernel says itself."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.kernel.fidelity.rows import PhaseFidelity
from wavetank.tables.table import Cell, Column, Definition, Table, sentences
from wavetank.tables.words import id_range


def _phases(ph_ids: Sequence[int]) -> Cell:
    """Phases; none are the calls beside them."""
    return Cell(id_range(ph_ids) if ph_ids else "other calls", sorted(ph_ids))


def _exact(row: PhaseFidelity) -> Cell:
    if row.left_to_mpi:
        return Cell("left to MPI", None)
    return Cell("yes" if row.exact else "no", row.exact)


FIDELITY: Definition[PhaseFidelity] = Definition(
    "fidelity",
    "Fidelity",
    (
        Column("phases", "Phases", lambda i: _phases(i.ph_ids), kind="list", help="none: the calls beside phases"),
        Column("exact", "Exact", _exact, kind="boolean", help="null: the MPI library makes these operations again"),
        Column("model_operations", "Operations of the model", lambda i: i.model.operations, kind="integer"),
        Column("kernel_operations", "Operations of the kernel", lambda i: i.kernel.operations, kind="integer"),
        Column("model_bytes", "Bytes of the model", lambda i: i.model.bytes, kind="integer"),
        Column("kernel_bytes", "Bytes of the kernel", lambda i: i.kernel.bytes, kind="integer"),
    ),
    command="fidelity",
)  # fmt: skip

DIFFERENCES: Definition[tuple[tuple[int, ...], str]] = Definition(
    "fidelity-differences",
    "Differences",
    (
        Column("phases", "Phases", lambda i: _phases(i[0]), kind="list"),
        Column("what", "What", lambda i: i[1], wide=True),
    ),
    key="differences",
    command="fidelity",
)

SAID = sentences("said-by-the-kernel", "Said by the kernel", command="fidelity")
DEFINITIONS = (FIDELITY, DIFFERENCES, SAID)


def fidelity_tables(
    rows: Sequence[PhaseFidelity], note: str, not_reproduced: Sequence[str]
) -> list[Table]:
    """The rows, what differs in each, and what the kernel says that it leaves out."""
    differences = [(row.ph_ids, what) for row in rows for what in row.differences]
    return [
        FIDELITY.table(rows, caption=note),
        *([DIFFERENCES.table(differences)] if differences else []),
        *([SAID.table(not_reproduced)] if not_reproduced else []),
    ]
