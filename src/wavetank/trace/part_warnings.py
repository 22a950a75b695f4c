"""What the parts of a trace tell a user: what is missing, and what the tracer noticed and could not record."""

from __future__ import annotations

from wavetank.notes import Note, note
from wavetank.tables.words import listed
from wavetank.trace.part import (
    NOTE_BYPASSED,
    NOTE_GO,
    NOTE_IO_URING,
    NOTE_LIBAIO,
    NOTE_MAPPED,
    NOTE_MISSED,
    NOTE_OTHER_CLASS,
    NOTE_OVERWRITTEN,
    NOTE_RAW,
    NOTE_RIGHTS,
    NOTE_STDIO,
    NOTE_STOPPED,
    NOTE_UNLOADED,
    NOTE_UNSEEN,
    Part,
)
from wavetank.trace.ranks import RankParts

_NAMED = 10  # ranks in a sentence


def losses(ranks: list[RankParts]) -> list[Note]:
    """A note for each reason for which the tracer stopped while its program went on."""
    by_reason: dict[str, list[tuple[int, int]]] = {}
    for entry in ranks:
        for part in entry.parts:
            if NOTE_STOPPED in part.notes:
                by_reason.setdefault(part.notes[NOTE_STOPPED], []).append(
                    (entry.rank, part.not_written)
                )
    notes = []
    for reason, found in by_reason.items():
        n = sum(missed for _, missed in found)
        what = "{n:,} operation(s)" if n else "what they did"
        what += f" after that {'are' if n else 'is'} missing"
        text = "the trace of rank(s) {ranks} could not be written to its end ({reason}): " + what
        which = listed([rank for rank, _ in found], _NAMED)
        notes.append(note("lost", "ranks", text, ranks=which, reason=reason, n=n))
    killed = [
        entry.rank
        for entry in ranks
        if any(not (p.ended or p.keeps_last or NOTE_STOPPED in p.notes) for p in entry.parts)
    ]
    if killed:
        text = "rank(s) {ranks} were killed, or still run, and the disk had no room to keep their last operations"
        notes.append(note("lost", "ranks", text, ranks=listed(killed, _NAMED)))
    return notes


def shortcomings(ranks: list[RankParts]) -> list[Note]:
    """Processes that were cut short, and what of the others was not recorded."""
    notes = []
    cut = [
        e.rank
        for e in ranks
        if not all(part.ended or NOTE_STOPPED in part.notes for part in e.parts)
    ]
    if cut:
        text = "rank(s) {ranks} did not end in order: killed, or still running"
        notes.append(note("unfinished", "ranks", text, ranks=listed(cut, _NAMED)))
    missed = sum(part.missed for e in ranks for part in e.parts)
    noted = {note for e in ranks for part in e.parts for note in part.notes}
    if missed or NOTE_MISSED in noted:
        text = "{n} operation(s) in signal handlers met the tracer at work and were not recorded"
        notes.append(note("unseen", "signal handlers", text, n=missed))
    if NOTE_MAPPED in noted:
        text = "files were mapped into memory; only the mapping is recorded, not the accesses"
        notes.append(note("unseen", "mapped files", text))
    if NOTE_STDIO in noted:
        text = "this C library's streams could not be followed; stdio (fread, fprintf, ...) is not seen"
        notes.append(note("unseen", "stdio", text))
    return notes


_NOT_SEEN = {
    NOTE_RAW: "the program makes system calls by syscall(2), which are not seen",
    NOTE_UNSEEN: "program(s) that were started are statically linked, and not seen",
    NOTE_UNLOADED: "program(s) were started in an environment without LD_PRELOAD (env -i, sudo, a cleaned "
    "environment), and are not seen; nor is what they start",
    NOTE_RIGHTS: "program(s) that were started run with the rights of another user or group, for which the dynamic loader "
    "leaves the tracer out, and are not seen",
    NOTE_BYPASSED: "libraries were loaded with RTLD_DEEPBIND or by dlmopen: their calls go to the C library itself, and are "
    "not seen",
    NOTE_LIBAIO: "libaio was loaded, and nothing is linked with its io_submit: requests of a program that takes it by dlsym are "
    "not seen",
    NOTE_OTHER_CLASS: "program(s) that were started are of another word size (32 bits) than the tracer, and not seen",
    NOTE_GO: "Go program(s) that were started make their system calls themselves: only what they do through C is seen",
}


def unseen(parts: list[Part]) -> list[Note]:
    """What the tracer noticed and could not record; operations that a kernel would lack are unrecorded."""
    notes = []
    if any(NOTE_IO_URING in part.notes for part in parts):
        text = "the program uses io_uring: operations through it are not seen"
        notes.append(note("unseen", "io_uring", text))
    for number, why in _NOT_SEEN.items():
        names = sorted({name for part in parts for name in part.unseen.get(number, ())})
        if names:
            notes.append(
                note("unseen", "programs", "{why}: {names}", why=why, names=", ".join(names))
            )
    names = sorted({name for part in parts for name in part.unseen.get(NOTE_OVERWRITTEN, ())})
    if names:
        text = (
            "another library wrote over {names} in the program (UCX does, unless UCX_MEM_MMAP_HOOK_MODE is none): mappings of "
            "files were not seen after that"
        )
        notes.append(note("unrecorded", "mapped files", text, names=" and ".join(names)))
    return notes
