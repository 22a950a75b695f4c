"""Kernels of models that no run was traced for: only of what is a function of the number of processes, unless asked for more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from wavetank.errors import KernelError
from wavetank.model.document.extrapolation import Extrapolation, NotExtrapolated
from wavetank.model.document.model import Model
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase, UnknownOffsets
from wavetank.notes import Note, note
from wavetank.tables.words import ranks_text


def performable(model: Model, approximate: bool) -> tuple[Model, tuple[Note, ...]]:
    """The model that a kernel can perform, and notes on what stands in for what is not known.

    Args:
        model: any; one that is not extrapolated is given back as it is.
        approximate: whether places in a file that are not known may be stood in for, and what is not known at all left out.

    Raises:
        KernelError: something is no function of the number of processes, and is not to be approximated.
    """
    extrapolation = model.extrapolation
    if extrapolation is None:
        return model, ()
    missing = extrapolation.not_extrapolated
    if not missing:
        return model, ()
    if not approximate:
        raise KernelError(_refusal(extrapolation))
    reasons = {ph_id: one.reason for one in missing for ph_id in one.ph_ids}
    return _stood_in(model, reasons), tuple(map(_note, missing))


def _refusal(extrapolation: Extrapolation) -> str:
    told = "; ".join(
        f"{_what(one)}: not extrapolated: {one.reason}"
        for one in extrapolation.not_extrapolated[:3]
    )
    more = len(extrapolation.not_extrapolated) - 3
    rest = f"; and {more} more" if more > 0 else ""
    return (
        f"the model is {extrapolation.sentence()}, and not all of it is a function of np. {told}{rest}. Trace a run at np "
        f"{extrapolation.n_ranks}, or at further process counts for 'wavetank fit'; or give --approximate, which places "
        "ranks side by side where their offsets are not known, and leaves out what is not known at all"
    )


def _what(one: NotExtrapolated) -> str:
    return f"phase {ranks_text(one.ph_ids)}" if one.ph_ids else one.what


def _note(one: NotExtrapolated) -> Note:
    if one.ph_ids:
        text = (
            "Where phase {phases} lies in the file is not extrapolated ({reason}): the ranks are placed side by side, rank * rs "
            "within each repetition, one phase after another."
        )
        return note("replaced", "offsets", text, phases=ranks_text(one.ph_ids), reason=one.reason)
    text = "Left out, because it is not extrapolated: {what} ({reason})."
    return note("omitted", "operations", text, what=one.what, reason=one.reason)


def _stood_in(model: Model, reasons: Mapping[int, str]) -> Model:
    """The model with ranks side by side in the phases whose offsets are not known."""
    ends: dict[tuple[int, str], int] = defaultdict(int)  # by file and calls
    phases: list[Phase] = []
    for phase in model.phases:
        if phase.ph_id not in reasons:
            phases.append(phase)
            continue
        key = (phase.file_id, _calls(phase))
        phases.append(_side_by_side(phase, ends[key]))
        ends[key] += phase.ph_np * phase.ph_nrep * sum(member.rs for member in phase.pattern)
    return model.model_copy(update={"phases": tuple(phases)})


def _calls(phase: Phase) -> str:
    return " + ".join(member.iop_type for member in phase.pattern)


def _side_by_side(phase: Phase, start: int) -> Phase:
    first, stop = phase.ph_processid[0], phase.ph_processid[-1] + 1
    block = sum(member.rs for member in phase.pattern)
    offsets: list[LinearOffsets | ListedOffsets] = []
    inner = 0
    for member, known in zip(phase.pattern, phase.offset, strict=True):
        if isinstance(known, UnknownOffsets):
            step = block * (stop - first) if phase.ph_nrep > 1 else 0
            offsets.append(LinearOffsets(a=block, b=step, c=start + inner - first * block))
        else:
            offsets.append(known)
        inner += member.rs
    return phase.model_copy(update={"offset": tuple(offsets), "offset_view": None})
