"""Programs recorded by Darshan and by our tracer, with the same arguments: one model comes out of both.

The logs, and how they were made: tests/data/darshan/recorded. What Darshan cannot tell is left out of the comparison
by ``compare_models`` itself; what it gets wrong is listed in docs/reference/darshan.md.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import pytest
from test_tracer_abyss import ABYSS, command, write_reads
from tracer_run import FAMILIES, compile_c, need, run_traced

from wavetank.document import provenance
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.expansion import phase_operations
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.notes import texts
from wavetank.trace.importers.counter_table import CounterRecord
from wavetank.trace.importers.libdarshan import open_log
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Level, Trace

LOGS = Path(__file__).parents[1] / "data" / "darshan" / "recorded"

# The log counts no communication: phases are separated by the pattern alone.
BY_PATTERN = Rules(split_at_communication={})


@dataclass(frozen=True)
class Run:
    """A recorded run: program, arguments, and what told the MPI library how to write."""

    log: str
    program: str
    n_ranks: int
    arguments: tuple[str, ...]
    hints: tuple[str, ...] = ()  # ROMIO's, a line each
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def family(self) -> str:
        return self.log.rsplit(".", 1)[1]


def both(name: str, program: str, *arguments: str) -> list[Run]:
    """The same run under both MPIs."""
    return [Run(f"{name}.{family}", program, 4, arguments) for family in ("mpich", "openmpi")]


def romio(cb_nodes: int, cb_buffer_size: int) -> tuple[str, ...]:
    return (
        "cb_config_list *:*", f"cb_nodes {cb_nodes}", f"cb_buffer_size {cb_buffer_size}",
        "romio_cb_write enable", "romio_cb_read enable",
    )  # fmt: skip


BT_IO = ("bt.out", "24", "10")
SHARED = ("seg.out", "40000", "10000", "6")
BUFFERED = [
    Run("bt_io-cb2.mpich", "bt_io", 4, BT_IO, hints=romio(2, 65536)),
    Run("bt_io-cb4.mpich", "bt_io", 4, BT_IO, hints=romio(4, 100_000)),
    Run(
        "bt_io-cb2.openmpi", "bt_io", 4, BT_IO,
        environment={"OMPI_MCA_io_ompio_num_aggregators": "2", "OMPI_MCA_io_ompio_bytes_per_agg": "65536"},
    ),
]  # fmt: skip
RUNS = [
    *both("bt_io", "bt_io", *BT_IO),
    *both("madbench2", "madbench2", "mad.out", "8", "10000"),
    *both("s3d_io", "s3d_io", "s3d", "8", "5"),
    *both("segments-shared-mpiio", "ior_blocks", "mpiio", *SHARED),
    Run("segments-shared-posix.mpich", "ior_blocks", 4, ("posix", *SHARED)),
    Run("segments-own-posix.mpich", "ior_blocks", 4, ("posix", "seg.%d.out", *SHARED[1:])),
    Run("segments-shared-collective.mpich", "ior_blocks", 4, ("collective", *SHARED)),
    *BUFFERED,
]


def logged(name: str) -> Trace:
    pytest.importorskip("darshan", reason="PyDarshan brings the library that reads logs")
    return open_trace(LOGS / f"{name}.darshan")


def model(trace: Trace, rules: Rules = BY_PATTERN) -> Model:
    return extract_model(trace, provenance(), rules)


def traced(run: Run, where: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    compiler, _, launcher = FAMILIES[run.family]
    need(f"libwavetank-trace-{run.family}.so", compiler, launcher[0])
    program = compile_c(f"{run.program}.c", where / run.program, "-Werror", compiler=compiler)
    if run.hints:
        (where / "hints").write_text("".join(f"{line}\n" for line in run.hints))
        monkeypatch.setenv("ROMIO_HINTS", str(where / "hints"))
    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    argv = [*launcher, "-n", str(run.n_ranks), str(program), *run.arguments]
    return run_traced(argv, where, monkeypatch)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.log)
def test_the_same_model_comes_out_of_our_trace_and_of_darshans_log(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    darshan = model(logged(run.log))
    mine = model(traced(run, tmp_path, monkeypatch))
    found = compare_models(mine, darshan)
    assert found.differences == ()
    assert found.n_equal_phases == len(mine.phases) == len(darshan.phases) > 0
    # Which ranks did the collective calls for all, in how many requests of which size (P16 does it by hand).
    assert darshan.relations == mine.relations
    assert bool(mine.relations) == any(p.level == "mpiio" for p in mine.phases)
    assert same_counts(model(open_trace(tmp_path / "run.trace"), POSIX), run.log)


@pytest.mark.parametrize("run", BUFFERED, ids=lambda run: run.log)
def test_collective_buffers_are_seen_in_what_collective_calls_became(run: Run) -> None:
    found = model(logged(run.log))
    size = int(run.hints[2].split()[1]) if run.hints else 65536
    assert found.relations
    for relation in found.relations:
        assert found.phases[relation.ph_id - 1].level == "mpiio"
        assert 0 < relation.rs_max <= size
    # Every byte is written once and read once, by as many ranks as there were aggregators.
    aggregators = {rank for relation in found.relations for rank in relation.ranks}
    assert len(aggregators) == (int(run.hints[1].split()[1]) if run.hints else 2)
    assert sum(relation.moved for relation in found.relations) == 2 * 10 * 24**3 * 40


def test_dd_asks_for_whole_blocks_in_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Darshan has the 1,000 bytes that the last read moved; the read of nothing behind it tells that it was the end.
    need("libwavetank-trace.so", "dd")
    darshan = model(logged("dd"))
    subprocess.run(
        ["dd", "if=/dev/zero", "of=in", "bs=1000", "count=10"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    mine = model(run_traced(["dd", "if=in", "of=out", "bs=3000"], tmp_path, monkeypatch))
    assert compare_models(mine, darshan).differences == ()
    read = darshan.phases[0]
    assert (read.ph_nrep, read.pattern[0].rs, read.moved_last) == (4, 3000, (1000,))


def test_abyss_p_reads_alike_in_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi", ABYSS)
    write_reads(tmp_path)
    darshan = model(logged("abyss"))
    mine = model(run_traced(command(2), tmp_path, monkeypatch))
    # It writes the rest by C++ streams with fprintf's checked twin and buffers of libc, which Darshan does not see.
    unseen = {"out.fa", "contigs-0.fa", "contigs-1.fa"}
    found = [
        d
        for d in compare_models(mine, darshan).differences
        if d.where not in unseen | {"application"}
    ]
    assert found == []
    reads = [p for p in darshan.phases if p.pattern[0].iop_type == "read"]
    # 1500 records of 213 bytes: 319,500 bytes are 39 reads of 8,191 and a short one of 51.
    assert [(p.ph_processid, p.ph_nrep, p.pattern[0].rs, p.moved_last) for p in reads] == [
        ((rank,), 40, 8191, (51,)) for rank in (0, 1)
    ]
    assert any("stream was closed" in warning for warning in texts(darshan.notes))


# --- counters -------------------------------------------------------------------------------------

POSIX = Rules(levels=(Level.POSIX,), split_at_communication={})
_BUCKETS = (
    (100, "0_100"), (1024, "100_1K"), (10 * 1024, "1K_10K"), (100 * 1024, "10K_100K"), (1 << 20, "100K_1M"),
)  # fmt: skip


def bucket(size: int) -> str:
    """Darshan's name of the bucket of a request size (DARSHAN_BUCKET_INC of darshan-common.h)."""
    return next(name for limit, name in _BUCKETS if size <= limit)


def counted(model_: Model, file: ModelFile) -> dict[str, int]:
    """Darshan's counters of a file, from a model of the POSIX level."""
    found: Counter[str] = Counter(SEQ=file.n_sequential or 0, CONSEC=file.n_consecutive or 0)
    for phase in model_.phases:
        if phase.file_id != file.file_id:
            continue
        for rank in phase.ph_processid:
            done = phase_operations(phase, rank)
            for member, moved in zip(done.member.tolist(), done.moved.tolist(), strict=True):
                way = "WRITE" if "write" in phase.pattern[member].iop_type else "READ"
                found[f"{way}S"] += 1
                found[f"SIZE_{way}_{bucket(moved)}"] += 1
                found[f"BYTES_{'WRITTEN' if way == 'WRITE' else 'READ'}"] += moved
    return {name: n for name, n in found.items() if n}


def same_counts(model_: Model, log: str) -> bool:
    """Whether a model of the POSIX level has the counters of a log, file by file."""
    expected: dict[str, Counter[str]] = {}
    with open_log(LOGS / f"{log}.darshan") as opened:
        names = opened.names()
        for record in opened.counters(opened.modules()["POSIX"]):
            name = PurePath(names[record.file]).name
            expected.setdefault(name, Counter()).update(_compared(record))
    files = [file for file in model_.files if file.n_operations]
    for file in files:
        name = PurePath(file.file_name).name
        assert counted(model_, file) == {k: n for k, n in expected[name].items() if n}, name
    return bool(files)


def _compared(record: CounterRecord) -> dict[str, int]:
    c = {name.removeprefix("POSIX_"): n for name, n in record.counters.items()}
    found = {name: c[name] for name in ("READS", "WRITES", "BYTES_READ", "BYTES_WRITTEN")}
    found |= {name: n for name, n in c.items() if name.startswith("SIZE_")}
    found |= {kind: c[f"{kind}_READS"] + c[f"{kind}_WRITES"] for kind in ("SEQ", "CONSEC")}
    return found
