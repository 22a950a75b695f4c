"""The nearest IOR command lines of a kernel's phases (method, section 3; P15 table II).

IOR lays out -s segments, each with one block of -b bytes for each task, each block read or written
by transfers of -t bytes in order, or with -z in random order (IOR user guide). What of a phase that layout cannot
say is listed with the line: the operations that the line will produce are worked out and compared.

The lines run one after another in a directory that holds none of their files: a line that reads more than those
before it have left comes with one that makes its files (``IorLine.before``). A line that IOR would refuse is not made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from wavetank.errors import KernelError
from wavetank.kernel.benchmarks.groups import (
    Group,
    approximate,
    differences,
    in_a_folder,
    other_places,
    refusal,
    stem_of,
)
from wavetank.kernel.benchmarks.ior_surroundings import Surroundings
from wavetank.kernel.benchmarks.ior_syncs import SyncOptions, sync_options
from wavetank.kernel.benchmarks.means import (
    IN_ORDER,
    MeanOperations,
    Notes,
    expressed,
    mean_operations,
)
from wavetank.kernel.benchmarks.open_flags import SECTOR, OpenFlags, OpenMode
from wavetank.kernel.benchmarks.syncs import SyncedWrites, Syncs
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import IorLine, Kernel, Refused
from wavetank.kernel.document.operations import first_difference, totals
from wavetank.model.document.phase import Run, Series
from wavetank.notes import Note, note, notes_of

SEED = 1
"""Of random offsets (-z), of every line: a file is read in the order in which it was written."""
_WITH_SEED = ("4.0",)  # versions of which --random-offset-seed is an option
_NAME_DIVIDER = "@"  # between several names in -o
_LARGEST_MPI = 2**31 - 1  # bytes: IOR counts them in an int
_PROGRAMS = ("mpirun", "ior", "./IOR")
_NUMBERS = ("-np", "-N", "-s", "-b", "-t")
_WITH_VALUE = (*_NUMBERS, "-a", "-o")
_DIRECT = frozenset({"--posix.odirect", "-B"})  # of 4.0, of versions before
_FLAGS = _DIRECT | {"-w", "-r", "-c", "-F", "-k", "-e", "-Y", "-z"}
TRANSFER_UNIT = 8
"""bytes: IOR refuses a transfer size that is not a multiple of its access size, sizeof(long long)."""


@dataclass(frozen=True)
class IorParameters:
    """IOR's parameters that decide which operations it makes. Sizes in bytes."""

    api: str  # "POSIX" or "MPIIO"
    collective: bool
    write: bool
    file_per_process: bool
    n_tasks: int
    segments: int
    block: int
    transfer: int
    file: str
    fsync: bool = False  # after the last write, inside of the timing
    fsync_each: bool = False  # after each write
    random: bool = False  # transfers in random order, each place once
    direct: bool = False  # by O_DIRECT

    def command(self, version: str = "4.0") -> str:
        """The command line, in the dialect of IOR 2.10 (P16, P18) or of 3.x and 4.x."""
        program = "./IOR" if version.startswith("2") else "ior"
        direct = ["--posix.odirect" if version.startswith("4") else "-B"] if self.direct else []
        seed = [f"--random-offset-seed={SEED}"] if version in _WITH_SEED else []
        words = [
            "mpirun", "-np", str(self.n_tasks), program, "-w" if self.write else "-r", "-N", str(self.n_tasks),
            "-a", self.api, *(["-c"] if self.collective else []), *(["-F"] if self.file_per_process else []),
            "-s", str(self.segments), "-b", str(self.block), "-t", str(self.transfer), "-k",
            *(["-e"] if self.fsync else []), *(["-Y"] if self.fsync_each else []), *(["-z", *seed] if self.random else []), *direct, "-o",
            in_a_folder(self.file) if self.api == "MPIIO" else self.file,
        ]  # fmt: skip
        return " ".join(words)

    def operations(self, task: int) -> list[Run]:
        """What one task does, in order, offsets in its file.

        At random: the places in ascending order. In a shared file IOR deals all tasks' places out by chance: these
        are as many as each gets on average.
        """
        per_block = self.block // self.transfer
        first = 0 if self.file_per_process else task * self.block
        stride = self.block if self.file_per_process else self.n_tasks * self.block
        if per_block == 1:
            return [
                Run(count=self.segments, rs=self.transfer, offset=first, disp=stride if self.segments > 1 else 0,
                    moved=self.segments * self.transfer)
            ]  # fmt: skip
        return [
            Run(count=per_block, rs=self.transfer, offset=first + segment * stride, disp=self.transfer,
                moved=self.block)
            for segment in range(self.segments)
        ]  # fmt: skip

    def extents(self) -> dict[str, int]:
        """Bytes of each file that the run uses, by the names that IOR gives them."""
        size = self.segments * self.block
        if self.file_per_process:
            return {f"{self.file}.{task:08d}": size for task in range(self.n_tasks)}
        return {self.file: self.n_tasks * size}


def parse_command(command: str) -> IorParameters:
    """The parameters of a command line that ``IorParameters.command`` wrote.

    Raises:
        KernelError: it is not one of those; what is wrong with it.
    """
    try:
        return _parameters(command.split())
    except ValueError as error:
        raise KernelError(
            f'cannot tell what the kernel\'s IOR line "{command}" does: {error}. '
            "Write the line as 'wavetank kernel' does, or make the kernel anew from its model"
        ) from error


def _parameters(words: Sequence[str]) -> IorParameters:
    option: dict[str, str] = {}
    flags: set[str] = set()
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            option[word] = next(rest, "")
        elif word in _FLAGS:
            flags.add(word)
        elif word not in _PROGRAMS and not word.startswith("--random-offset-seed="):
            raise ValueError(f"{word} is not among the options of such lines")
    option.setdefault("-N", option.get("-np", ""))  # IOR's default: all tasks
    if missing := [word for word in _WITH_VALUE if not option.get(word)]:
        raise ValueError(f"it has no {', '.join(missing)}")
    for word in _NUMBERS:
        if not option[word].isdecimal() or int(option[word]) == 0:
            raise ValueError(f"{word} {option[word]} is no whole number above 0")
    number = {word: int(option[word]) for word in _NUMBERS}
    if number["-N"] != number["-np"]:
        raise ValueError(
            f"-np {option['-np']} and -N {option['-N']} are different numbers of tasks"
        )
    if number["-b"] % number["-t"]:
        raise ValueError(f"-b {option['-b']} is no multiple of -t {option['-t']}")
    if option["-a"] not in ("POSIX", "MPIIO"):
        raise ValueError(f"-a {option['-a']} is neither POSIX nor MPIIO")
    if len(flags & {"-w", "-r"}) != 1:
        raise ValueError("it needs one of -w and -r")
    return IorParameters(
        api=option["-a"],
        collective="-c" in flags,
        write="-w" in flags,
        file_per_process="-F" in flags,
        n_tasks=number["-np"],
        segments=number["-s"],
        block=number["-b"],
        transfer=number["-t"],
        file=option["-o"].removeprefix("./"),
        fsync="-e" in flags,
        fsync_each="-Y" in flags,
        random="-z" in flags,
        direct=bool(flags & _DIRECT),
    )


def ior_lines(
    kernel: Kernel, series: Sequence[Series], version: str = "4.0"
) -> tuple[list[IorLine], list[Refused]]:
    """The nearest IOR lines of a kernel, and the phases that IOR cannot express.

    Args:
        kernel: the kernel; where it says "approximate", phases that IOR cannot express are approximated.
        series: of the model: equal phases that recur become one line.
        version: IOR's; "2.10" is the papers' dialect.
    """
    lines: list[IorLine] = []
    refused: list[Refused] = []
    roughly = partial(_approximated, version=version)
    found = list(expressed(kernel, series, _expressed, roughly))
    beside = Surroundings([group for group, _, _ in found])
    synced, opened = SyncedWrites(kernel), OpenFlags(kernel)
    left = _FilesLeft()
    for group, made, reason in found:
        ph_ids = tuple(phase.ph_id for phase in group.phases)
        syncs = synced.of(group)
        elsewhere = all(file.file_id in synced.not_behind_writes for file in group.files)
        if reason is not None:
            refused.append(Refused(ph_ids=ph_ids, reason=reason))
        for parameters, notes in made:
            options = _syncs(parameters, syncs, elsewhere, version)
            line = replace(parameters, fsync=options.at_end, fsync_each=options.each)
            line, of_opens = _opened(line, opened.of(group.phases))
            before = left.maker_of(line)
            lines.append(
                IorLine(
                    ph_ids=ph_ids, command=line.command(version),
                    before=None if before is None else before.command(version),
                    not_reproduced=(
                        *notes, *notes_of("replaced", "syncs", options.notes), *notes_of("replaced", "opens", of_opens),
                        *notes_of("replaced", "surroundings", beside.of(group, made_before=before is not None)),
                    ),
                )
            )  # fmt: skip
            left.run(line)
    return lines, refused


class _FilesLeft:
    """How long files are that lines leave, run one after another: IOR removes a file before it writes it."""

    def __init__(self) -> None:
        self._size: dict[str, int] = {}

    def run(self, line: IorParameters) -> None:
        """Run a line, and before it the one that makes what it reads."""
        for name, size in line.extents().items():
            self._size[name] = size if line.write else max(size, self._size.get(name, 0))

    def maker_of(self, line: IorParameters) -> IorParameters | None:
        """A line that makes what another reads; None where that is there."""
        sizes = self._size
        if line.write or all(sizes.get(name, -1) >= size for name, size in line.extents().items()):
            return None
        return replace(line, write=True, fsync=True, random=False, collective=False)


def _syncs(line: IorParameters, syncs: Syncs, elsewhere: bool, version: str) -> SyncOptions:
    """How a line has on storage what it writes."""
    if not line.write:
        return SyncOptions()
    dealt = line.random and not line.file_per_process and line.n_tasks > 1
    return sync_options(
        syncs, api=line.api, n_tasks=line.n_tasks, dealt=dealt, elsewhere=elsewhere, version=version
    )  # fmt: skip


def _opened(line: IorParameters, mode: OpenMode) -> tuple[IorParameters, list[str]]:
    """A line whose files are open as the application's, as far as IOR's POSIX interface has options."""
    found = list(mode.unlike())
    if line.api != "POSIX":
        return line, found
    if mode.direct and line.transfer % SECTOR:
        found.append(
            f"O_DIRECT is left out: transfers of {line.transfer} bytes are no multiple of {SECTOR}."
        )
    elif mode.direct:
        line = replace(line, direct=True)
    if mode.sync and line.write:
        line = replace(line, fsync_each=True)
        found.append(f"O_{mode.sync.upper()} becomes fsync after each write (-Y).")
    return line, found


_Line = tuple[IorParameters, Notes]


def _expressed(group: Group) -> tuple[list[_Line], str | None]:
    """The line that expresses a group, and why it does not do so exactly enough to be given unasked."""
    reason = refusal(group)
    if reason is not None:
        segments = _segments(group)
        return ([], reason) if segments is None else ([(segments, ())], None)
    parameters = ior_parameters(group)
    if (reason := _cannot_run(parameters)) is not None:
        return [], reason
    theirs = [parameters.operations(task) for task in range(parameters.n_tasks)]
    reason = other_places(group, theirs, parameters.transfer)
    notes = tuple(_rounding(group, parameters))
    if reason is not None:
        notes = (approximate(reason), *notes)
    return [(parameters, notes)], reason


def _segments(group: Group) -> IorParameters | None:
    """Several segments of blocks of several transfers, where IOR makes just the group's operations."""
    phase, ranks = group.phases[0], group.ranks()
    if group.n_files > 1 or len(phase.pattern) > 1 or group.lists_sizes(ranks[0]):
        return None
    runs = group.runs(ranks[0])
    if not runs or runs[0].disp != runs[0].rs or runs[0].rs % TRANSFER_UNIT:
        return None
    line = replace(
        ior_parameters(group), segments=len(runs), block=runs[0].count * runs[0].rs, transfer=runs[0].rs
    )  # fmt: skip
    exact = all(
        first_difference(group.runs(rank) or (), line.operations(task)) is None
        for task, rank in enumerate(ranks)
    )
    return line if exact and _cannot_run(line) is None else None


def _cannot_run(line: IorParameters) -> str | None:
    """Why IOR would end with an error; None if it runs."""
    if line.block == 0:
        return "what is read is less than one transfer of IOR's"
    if line.api == "MPIIO" and line.transfer > _LARGEST_MPI:
        return f"a transfer of {line.transfer} bytes is more than IOR's MPI-IO interface takes ({_LARGEST_MPI})"
    if _NAME_DIVIDER in line.file:
        return f"its file's name, {line.file}, holds {_NAME_DIVIDER}, at which IOR divides names"
    return None


def _approximated(group: Group, reason: str, version: str) -> tuple[list[_Line], str | None]:
    """A line for each direction of a group that IOR cannot express; without one why IOR would refuse them."""
    lines: list[_Line] = []
    phase = group.phases[0]
    means = mean_operations(group)
    for mean in means:
        transfer = _rounded_up(mean.size, TRANSFER_UNIT)
        parameters = IorParameters(
            api="MPIIO" if phase.level == "mpiio" else "POSIX",
            collective=phase.collective,
            write=mean.write,
            file_per_process=group.per_process,
            n_tasks=len(group.ranks()),
            segments=1,
            block=mean.per_rank * transfer,
            transfer=transfer,
            file=_file(group),
            random=mean.random and not phase.collective and mean.per_rank > 1,
        )
        if (wrong := _cannot_run(parameters)) is not None:
            return [], wrong
        made = totals(
            run for task in range(parameters.n_tasks) for run in parameters.operations(task)
        )
        offsets = _random_places(mean, parameters, version) if mean.random else IN_ORDER
        notes = mean.notes(reason, made, transfer, alternates=len(means) > 1, offsets=offsets)
        lines.append((parameters, tuple(notes)))
    return lines, None


def _random_places(mean: MeanOperations, ior: IorParameters, version: str) -> str:
    """Where IOR's operations lie in place of random ones."""
    if not ior.random:
        return f"the application's are random; IOR has no random collective calls, and {IN_ORDER}"
    region = max(ior.extents().values())
    theirs = f"bytes {min(mean.first)} to {max(mean.end)}"
    text = f"random, each place of the first {region} bytes once; the application's are random in {theirs}."
    if ior.n_tasks > 1 and not ior.file_per_process:
        text += " IOR deals the places of all tasks out by chance: tasks make different numbers of operations."
    if version not in _WITH_SEED:
        text += f" IOR {version} has no option for the seed: the order is another in each run."
    return text


def _file(group: Group) -> str:
    names = [file.name for file in group.files]
    return stem_of(names) if group.per_process else names[0]


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def ior_parameters(group: Group) -> IorParameters:
    """P15 table II: strided: -s rep -b rs -t rs; sequential: -s 1 -b weight/np -t rs."""
    phase = group.phases[0]
    name = phase.pattern[0].iop_type
    runs = group.runs(group.ranks()[0]) or []
    rs = runs[0].rs
    transfer = _rounded_up(rs, TRANSFER_UNIT)
    operations = sum(run.count for run in runs)
    weight_per_rank = sum(run.moved for run in runs)
    sequential = operations > 1 and runs[0].disp == rs
    if sequential:
        segments = 1
        # A read must not go past the end of the file; a write may write a little more.
        whole = (
            weight_per_rank // transfer * transfer
            if calls.reads(name)
            else _rounded_up(weight_per_rank, transfer)
        )
        block = whole
    else:
        segments, block = operations, transfer
    return IorParameters(
        api="MPIIO" if phase.level == "mpiio" else "POSIX",
        collective=phase.collective,
        write=not calls.reads(name),
        file_per_process=group.per_process,
        n_tasks=len(group.ranks()),
        segments=segments,
        block=block,
        transfer=transfer,
        file=_file(group),
    )


def _rounding(group: Group, ior: IorParameters) -> Iterator[Note]:
    rs = group.phases[0].pattern[0].rs
    if ior.transfer != rs:
        text = f"Request size {rs} becomes {ior.transfer}: IOR's must be a multiple of {TRANSFER_UNIT} bytes."
        yield note("replaced", "request size", text)
    yield from differences(group, [ior.operations(task) for task in range(ior.n_tasks)])
