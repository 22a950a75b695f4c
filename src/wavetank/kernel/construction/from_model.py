"""Model -> Kernel: what the replay performs, and notes on everything that it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from wavetank.document import provenance, sha256_of
from wavetank.errors import KernelError
from wavetank.kernel.benchmarks.ior import ior_lines
from wavetank.kernel.benchmarks.mdtest import mdtest_lines
from wavetank.kernel.construction.doubts import doubts_of
from wavetank.kernel.construction.extrapolated import performable
from wavetank.kernel.construction.selection import Selection
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.kernel.files.capacity import capacity_bytes
from wavetank.kernel.files.file_names import apply_names
from wavetank.kernel.files.holes import holes_missed
from wavetank.kernel.files.kernel_files import kernel_files
from wavetank.kernel.files.listings import with_entries
from wavetank.kernel.files.tree_names import folders_of
from wavetank.kernel.ordering.waits import find_waits
from wavetank.model.document.model import Model
from wavetank.model.document.program import Program
from wavetank.notes import note, notes_of, of_kinds
from wavetank.tables.words import listed

_WAITS = (
    "Ranks work on what other ranks wrote or opened before, with no collective between (phases of which that holds: {phases}). How the "
    "application ordered them is not in the model; the replay lets the later one wait until the earlier one is done."
)


def make_kernel(
    model: Model, model_path: Path, ior_version: str = "4.0", approximate: bool = False
) -> Kernel:
    """The kernel of a model.

    Args:
        model: the model.
        model_path: its file, for the kernel's provenance.
        ior_version: dialect of the IOR lines.
        approximate: have benchmarks approximate phases that they cannot express, instead of refusing them.

    Raises:
        KernelError: the model holds no I/O that a replay could perform.
    """
    model, stood_in = performable(model, approximate)
    selection = Selection(model)
    moves_no_data = not model.phases and bool(selection.touched)  # makes, opens, renames files
    if not selection.phases and selection.unplaced:
        raise KernelError(
            f"the model of {model.application} does not say at which offsets its MPI-IO operations were (Darshan on Open MPI "
            "records none). Model the POSIX calls below them, 'wavetank model LOG --levels posix -o FILE', and go on with that"
        )
    if not selection.phases and not moves_no_data:
        raise KernelError(
            f"{model.application} has no I/O phase that a kernel could perform. Look at the model with "
            "'wavetank summary --full'; was the right program traced?"
        )
    used = {phase.file_id for phase in selection.phases} | selection.touched
    touched = [file for file in model.files if file.file_id in used]
    files, programs, of_names = apply_names(
        touched,
        kernel_files(touched, selection.phases, selection.programs, model.views),
        selection.programs,
        folders_of(touched, metadata_only=not model.phases),
        metadata_only=not model.phases,
    )
    files, of_listings = with_entries(files, programs)
    bare = Kernel(
        provenance=provenance(inputs=[model_path]),
        application=model.application,
        model_sha256=sha256_of(model_path),
        mpi_library=model.mpi_library,
        n_ranks=model.n_ranks,
        files=tuple(files),
        phases=tuple(selection.phases),
        metadata=model.metadata,
        views=model.views,
        infos=model.infos,
        communicators=model.communicators,
        programs=tuple(programs),
        capacity_bytes=capacity_bytes(touched, files, programs),
        notes=(
            *doubts_of(model),
            *of_kinds(model.notes, "library"),
            *stood_in,
            *selection.notes(),
            *notes_of("replaced", "file names", of_names),
            *notes_of("replaced", "directories", of_listings),
            *notes_of("replaced", "holes", _without_holes(files, programs)),
        ),
        approximate=approximate,
        extrapolation=model.extrapolation,
        approximation=model.approximation,
        run_times=model.run_times,
    )
    waits = find_waits(bare)
    if inferred := waits.number - waits.n_certain:
        order = note("replaced", "order", _WAITS, phases=inferred)
        bare = bare.model_copy(update={"notes": (*bare.notes, order)})
    lines, refused = ior_lines(bare, model.series, ior_version)
    of_mdtest, no_mdtest = mdtest_lines(bare)
    return bare.model_copy(
        update={
            "ior": tuple(lines),
            "ior_refused": tuple(refused),
            "mdtest": tuple(of_mdtest),
            "mdtest_refused": tuple(no_mdtest),
        }
    )


def _without_holes(files: Sequence[KernelFile], programs: Sequence[Program]) -> Iterator[str]:
    """A sentence where the application looked for holes that its input files had."""
    sizes = {file.file_id: max((size for _, size in file.stored()), default=0) for file in files}
    missed = {file_id for one in programs for file_id in holes_missed(one.steps, sizes)}
    names = [file.title for file in files if file.file_id in missed]
    if names:
        yield (
            f"Seeks to holes (SEEK_HOLE) end elsewhere in {listed(names, 3)}: files made beforehand are not sparse."
        )
