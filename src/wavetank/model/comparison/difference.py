"""Compares two models: what is the same, what differs and by how much.

Files are matched by name, then by order; on each file operations are compared, then the order of all (``program_difference``).
Times are no part of it: a model is independent of the machine that it was traced on. Of models whose
sources tell different things, what both tell is compared (``comparability``), and the notes say what is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.model.comparison.comparability import Sight, notes_of, through_views, users
from wavetank.model.comparison.comparison_limits import ComparisonLimits
from wavetank.model.comparison.counterparts import matched_files
from wavetank.model.comparison.program_difference import (
    Difference,
    Plain,
    ProgramComparison,
    name_of,
)
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Model, own_levels
from wavetank.model.document.phase import Phase


@dataclass(frozen=True)
class ModelDifference:
    """All differences of two models."""

    n_equal_phases: int
    n_phases_a: int
    n_phases_b: int
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()  # what was not compared, and what may explain differences

    @property
    def same(self) -> bool:
        """Whether the models stand for the same I/O."""
        return not self.differences


def compare_models(a: Model, b: Model, limits: ComparisonLimits | None = None) -> ModelDifference:
    """Compare two models: application, files, operations by phases, and the order of everything.

    Args:
        a: one model.
        b: the other one.
        limits: how much is compared one by one; None: the usual ones.
    """
    if a.extrapolation is not None or b.extrapolation is not None:
        a, b = own_levels(a), own_levels(b)  # what the MPI library would do is not extrapolated
    pairs = matched_files(a.files, b.files)
    comparison = ProgramComparison(a, b, pairs, limits or ComparisonLimits())
    found = [
        Difference("application", None, None, field, getattr(a, field), getattr(b, field))
        for field in ("n_ranks", "app_np", "app_nfiles", "app_st")
        if getattr(a, field) != getattr(b, field)
    ]
    for number, (file_a, file_b) in enumerate(pairs):
        if any(file is not None and file.n_operations for file in (file_a, file_b)):
            found += _file(comparison, number, file_a, file_b)
    if not found:
        found += comparison.order()
    notes = (
        *comparison.notes(),
        *notes_of(a, b, comparison.sight, comparison.n_unknown, bool(found)),
    )
    return ModelDifference(comparison.n_equal, len(a.phases), len(b.phases), tuple(found), notes)


def _file(
    comparison: ProgramComparison, number: int, file_a: ModelFile | None, file_b: ModelFile | None
) -> list[Difference]:
    """What differs in a pair of files and the operations on them."""
    phases_a, phases_b = comparison.phases(number)
    n_folded = len(comparison.otherwise_folded)
    rows = comparison.file(number)
    # The mode of access is of phases.
    left_out = {"file_accessmode"} if len(comparison.otherwise_folded) > n_folded else set()
    found = _file_differences((file_a, phases_a), (file_b, phases_b), comparison.sight)
    return [*(one for one in found if one.field not in left_out), *rows]


_FILE_FIELDS = (
    "file_size", "file_np", "file_accessmode", "file_fileaccesstype", "file_accesstype", "n_operations",
)  # fmt: skip


def _file_differences(
    a: tuple[ModelFile | None, Sequence[Phase]],
    b: tuple[ModelFile | None, Sequence[Phase]],
    sight: Sight,
) -> list[Difference]:
    name = name_of((a[0], b[0]))
    if a[0] is None or b[0] is None:
        sides = ("missing", "there") if a[0] is None else ("there", "missing")
        return [Difference(name, None, None, "file", *sides)]
    sides_ = [(a[0], a[1]), (b[0], b[1])]
    values: dict[str, list[Plain]] = {
        field: [getattr(file, field) for file, _ in sides_] for field in _FILE_FIELDS
    }
    if not sight.calls:
        ranks = [users(file, phases) for file, phases in sides_]
        values["file_np"] = [len(some) for some in ranks]
        values["file_accesstype"] = ["shared" if len(some) > 1 else "unique" for some in ranks]
        if "unknown" in values["file_accessmode"] or any(
            through_views(file, phases) for file, phases in sides_
        ):
            del values["file_accessmode"]
    return [
        Difference(name, None, None, field, one, other)
        for field, (one, other) in values.items()
        if one != other
    ]
