"""Numbers of opens that are equal for visits of equal calls."""

from __future__ import annotations


def open_slots(handles: list[int]) -> list[int]:
    """For each call of a visit the lowest number that is not in use when its open begins."""
    last = {handle: place for place, handle in enumerate(handles)}
    slot: dict[int, int] = {}
    found = []
    for place, handle in enumerate(handles):
        if handle not in slot:
            taken = {slot[other] for other in slot if last[other] >= place}
            slot[handle] = next(n for n in range(len(taken) + 1) if n not in taken)
        found.append(slot[handle])
    return found
