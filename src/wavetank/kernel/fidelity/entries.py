"""Steps of a program as tuples, so that equal order is equality: how many calls they are, and where two orders part."""

from __future__ import annotations

from collections.abc import Sequence

Entry = tuple[object, ...]
"""Its kind, then what it uses, by contents. Of a repeat: how often, and the entries that recur."""


def n_calls(order: Sequence[Entry]) -> int:
    """Calls that move no data, all repetitions counted."""
    n = 0
    for entry in order:
        if entry[0] == "repeat":
            n += int(entry[1]) * n_calls(entry[2])  # type: ignore[call-overload, arg-type]
        elif entry[0] in ("do", "empty"):
            n += int(entry[-1])  # type: ignore[call-overload]
        elif entry[0] == "pair":
            n += 1
    return n


def first_other(wanted: Sequence[Entry], planned: Sequence[Entry]) -> str | None:
    """A sentence on the first step at which two orders differ; None where they are equal."""
    if wanted == planned:
        return None
    place = next(
        (i for i, (a, b) in enumerate(zip(wanted, planned, strict=False)) if a != b),
        min(len(wanted), len(planned)),
    )
    model, plan = (
        told(some[place]) if place < len(some) else "nothing more" for some in (wanted, planned)
    )
    return f"the order differs from the model's at step {place + 1}: {plan}, the model has {model}"


def told(entry: Entry) -> str:
    """An entry for people."""
    kind = entry[0]
    if kind == "data":
        return f"{entry[2]} of phase {entry[1]}"
    if kind == "repeat":
        inner = [told(one) for one in entry[2]]  # type: ignore[attr-defined]
        return f"{entry[1]} times ({', '.join(inner[:3])}{', ...' if len(inner) > 3 else ''})"
    if kind in ("do", "empty", "pair"):
        file = entry[2]
        return f"{entry[1]} of {file[1] if isinstance(file, tuple) else f'file {file}'}"
    return {"sync": "a collective", "pause": "a pause"}.get(str(kind), str(kind))


def trimmed(order: list[Entry], n_ranks: int) -> list[Entry]:
    """Without synchronisation of all ranks at the very start and end: MPI_Init and MPI_Finalize do it."""
    low, high = 0, len(order)

    def is_of_all(entry: Entry) -> bool:
        return entry[0] == "sync" and len(entry[1]) == n_ranks  # type: ignore[arg-type]

    while low < high and is_of_all(order[low]):
        low += 1
    while low < high and is_of_all(order[high - 1]):
        high -= 1
    return order[low:high]
