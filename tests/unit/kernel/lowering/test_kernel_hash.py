"""Kernels are named by what they do: by their operations in order, not by how these are gathered."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import kernel_models as km
import pytest
from mutations import mutations
from plan_checks import does_the_same
from plan_reader import read_plan
from pydantic import ValidationError
from varied_models import MODELS

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.phase import ListedOffsets, Phase, Run
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    Program,
    RepeatStep,
    Step,
)

CALLS = {"A": "pwrite", "B": "pread"}
Place = tuple[int, int]  # size and offset
Node = str | tuple[int, list[Any]]  # an operation, or a loop: times and nodes


@dataclass
class Did:
    """What a rank did: nodes, and sizes and offsets of the data operations of each name in order."""

    nodes: list[Node]
    places: dict[str, list[Place]] = field(default_factory=dict)

    def flat(self) -> list[str]:
        return list(_flat(self.nodes))


def _flat(nodes: list[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            for _ in range(node[0]):
                yield from _flat(node[1])


def run_of(rng: random.Random) -> Did:
    """Loops in loops over two kinds of accesses, regular for a while, and calls without data."""

    def nodes(depth: int) -> list[Node]:
        return [
            (rng.randint(2, 9), nodes(depth - 1))
            if depth and rng.random() < 0.5
            else rng.choice(["A", "A", "B", "fsync", "lseek"])
            for _ in range(rng.randint(1, 4))
        ]

    did = Did(["A", "B", *nodes(3)])
    flat = did.flat()
    for name in CALLS:
        places: list[Place] = []
        while len(places) < flat.count(name):
            size, at, step = rng.choice([10, 20]), rng.randrange(1000), rng.choice([-20, 0, 10, 30])
            places += [(size, at + i * step) for i in range(rng.choice([1, 2, 7, 200]))]
        did.places[name] = places[: flat.count(name)]
    return did


BASE = make_kernel(km.irregular(), Path(__file__))


def kernel(phases: list[Phase], steps: list[Step]) -> Kernel:
    return BASE.model_copy(
        update={"phases": tuple(phases), "programs": (Program(ranks=(0,), steps=tuple(steps)),)}
    )


def phase(number: int, name: str, runs: list[Run]) -> Phase:
    n = sum(run.count for run in runs)
    return km.phase(
        number, 1, (0,), n, [km.member(CALLS[name], runs[0].rs)], [km.listed(tuple(runs))]
    )


def call(name: str) -> FileStep:
    return FileStep(iop_type=name, file_id=1, handle=0, origin=1 if name == "lseek" else 0)


def runs_of(places: list[Place], longest: int) -> list[Run]:
    """Runs of regular places, of so many operations at most."""
    found: list[Run] = []
    for size, at in places:
        last = found[-1] if found else None
        if last is not None and last.rs == size and last.count < longest:
            step = at - last.offset if last.count == 1 else last.disp
            if at == last.offset + last.count * step:
                n = last.count + 1
                found[-1] = Run(count=n, rs=size, offset=last.offset, disp=step, moved=n * size)
                continue
        found.append(Run(count=1, rs=size, offset=at, disp=0, moved=size))
    return found


def as_it_was(did: Did, longest: int = 10**9) -> Kernel:
    """With its loops."""
    ids = {name: number for number, name in enumerate(CALLS, start=1)}

    def steps(nodes: list[Node]) -> tuple[Step, ...]:
        return tuple(
            RepeatStep(times=node[0], steps=steps(node[1]))
            if not isinstance(node, str)
            else DataStep(ph_id=ids[node], n=1)
            if node in ids
            else call(node)
            for node in nodes
        )

    phases = [phase(ids[name], name, runs_of(did.places[name], longest)) for name in CALLS]
    return kernel(phases, list(steps(did.nodes)))


def one_by_one(did: Did) -> Kernel:
    """Without loops, each operation a run of its own."""
    return as_it_was(replace(did, nodes=list(did.flat())), longest=1)


def in_other_chunks(did: Did, rng: random.Random) -> Kernel:
    """Without loops, equal operations in a row in steps of any length, in several phases each."""
    steps: list[Step] = []
    held: dict[str, list[Place]] = {name: [] for name in CALLS}
    numbers = {name: number for number, name in enumerate(CALLS, start=1)}
    places = {name: iter(some) for name, some in did.places.items()}
    phases: dict[int, Phase] = {}

    def close(name: str) -> None:
        if held[name]:
            runs = runs_of(held[name], rng.choice([1, 3, 1000]))
            phases[numbers[name]] = phase(numbers[name], name, runs)
            held[name], numbers[name] = [], max(numbers.values()) + 1

    for name in did.flat():
        if name not in CALLS:
            last = steps[-1]
            if isinstance(last, FileStep) and last.iop_type == name and rng.random() < 0.7:
                steps[-1] = last.model_copy(update={"count": last.count + 1})
            else:
                steps.append(call(name))
            continue
        if rng.random() < 0.2:
            close(name)
        held[name].append(next(places[name]))
        last, number = steps[-1] if steps else None, numbers[name]
        if isinstance(last, DataStep) and last.ph_id == number and rng.random() < 0.7:
            steps[-1] = last.model_copy(update={"n": last.n + 1})
        else:
            steps.append(DataStep(ph_id=number, n=1))
    for name in CALLS:
        close(name)
    return kernel([phases[number] for number in sorted(phases)], steps)


def in_an_irregular_order(did: Did) -> Kernel:
    made = one_by_one(did)
    names = sorted(set(did.flat()))
    ids = {name: number for number, name in enumerate(CALLS, start=1)}
    different = [DataStep(ph_id=ids[one], n=1) if one in ids else call(one) for one in names]
    order = [names.index(one) for one in did.flat()]
    return kernel(list(made.phases), [IrregularOrderStep(steps=tuple(different), order=order)])


@pytest.mark.parametrize("seed", range(40))
def test_all_encodings_of_one_run_have_one_name(seed: int) -> None:
    rng = random.Random(seed)
    did = run_of(rng)
    wanted = kernel_hash(as_it_was(did))
    assert kernel_hash(as_it_was(did, longest=3)) == wanted
    assert kernel_hash(one_by_one(did)) == wanted
    assert kernel_hash(in_an_irregular_order(did)) == wanted
    for _ in range(3):
        assert kernel_hash(in_other_chunks(did, rng)) == wanted


@pytest.mark.parametrize("seed", range(40))
def test_any_other_operation_gives_another_name(seed: int) -> None:
    rng = random.Random(seed)
    did = run_of(rng)
    wanted = kernel_hash(as_it_was(did))
    flat = did.flat()
    name = rng.choice(list(CALLS))
    at = rng.randrange(len(did.places[name]))
    size, offset = did.places[name][at]
    others = [
        replace(did, places=did.places | {name: [*did.places[name][:at], place, *did.places[name][at + 1 :]]})
        for place in ((size, offset + 1), (size + 1, offset))
    ]  # fmt: skip
    others += [
        replace(did, nodes=[*flat[:place], "fsync", *flat[place:]]) for place in (0, len(flat))
    ]
    swapped = [i for i in range(len(flat) - 1) if flat[i] != flat[i + 1]]
    if swapped:
        i = rng.choice(swapped)
        others.append(replace(did, nodes=[*flat[:i], flat[i + 1], flat[i], *flat[i + 2 :]]))
    for other in others:
        assert kernel_hash(as_it_was(other)) != wanted


def pairs(n: int, offsets: tuple[Any, Any]) -> Phase:
    members = [km.member("pwrite", 10), km.member("pread", 20)]
    return km.phase(1, 1, (0,), n, members, list(offsets))


def test_a_pattern_is_the_loop_over_its_members() -> None:
    n = 1000
    linear = pairs(n, (km.linear(b=50), km.linear(b=7, c=3)))
    apart = [
        km.phase(1, 1, (0,), n, [km.member("pwrite", 10)], [km.linear(b=50)]),
        km.phase(2, 1, (0,), n, [km.member("pread", 20)], [km.linear(b=7, c=3)]),
    ]
    loop = RepeatStep(times=n, steps=(DataStep(ph_id=1, n=1), DataStep(ph_id=2, n=1)))
    halves = RepeatStep(times=2 * n, steps=(DataStep(ph_id=1, n=1, single=True),))
    odd = [DataStep(ph_id=1, n=7, single=True), DataStep(ph_id=1, n=2 * n - 7, single=True)]
    found = {
        kernel_hash(kernel([linear], [DataStep(ph_id=1, n=n)])),
        kernel_hash(kernel([linear], [halves])),
        kernel_hash(kernel([linear], odd)),  # type: ignore[arg-type]
        kernel_hash(kernel(apart, [loop])),
    }
    assert len(found) == 1
    turned = RepeatStep(times=n, steps=(DataStep(ph_id=2, n=1), DataStep(ph_id=1, n=1)))
    assert kernel_hash(kernel(apart, [turned])) not in found


def test_a_short_last_operation_is_one_of_its_own() -> None:
    short = km.phase(
        1, 1, (0,), 5, [km.member("pread", 10)], [km.linear(b=10)], 47, moved_last=(7,)
    )
    last = ListedOffsets(
        n_runs=[2], count=[4, 1], rs=10, offset=[0, 40], disp=[10, 0], moved=[40, 7]
    )
    listed = km.phase(1, 1, (0,), 5, [km.member("pread", 10)], [last], 47)
    whole = km.phase(1, 1, (0,), 5, [km.member("pread", 10)], [km.linear(b=10)])
    steps: list[Step] = [DataStep(ph_id=1, n=5)]
    assert kernel_hash(kernel([short], steps)) == kernel_hash(kernel([listed], steps))
    assert kernel_hash(kernel([short], steps)) != kernel_hash(kernel([whole], steps))


def test_tables_may_be_numbered_otherwise() -> None:
    made = make_kernel(km.btio(steps=3), Path(__file__))
    shift = {"view_id", "view_ids", "communicator"}

    def renamed(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: renamed(one, key) for key, one in value.items()}
        if isinstance(value, list):
            return [renamed(one, name) for one in value]
        return value + 1 if name in shift and isinstance(value, int) else value

    body = renamed(made.model_dump(mode="json"))
    body["views"] = [body["views"][0], *body["views"]]
    body["communicators"] = [body["communicators"][0], *body["communicators"]]
    assert kernel_hash(Kernel.model_validate(body)) == kernel_hash(made)
    body["views"][1:] = [{**view, "displacement": 5} for view in body["views"][1:]]
    assert kernel_hash(Kernel.model_validate(body)) != kernel_hash(made)


def is_inert(mutant: Kernel, made: Kernel) -> bool:
    """Whether a phase only has operations that no step performs, or steps share out the same operations otherwise."""
    n_mutant, n_made = (
        sum(
            int(one.runs_at(place, 0).count.sum())
            for one in each.phases
            for place in range(len(one.ph_processid))
        )
        for each in (mutant, made)
    )
    if n_mutant > n_made:
        return True
    return mutant.programs != made.programs and shared_out(mutant) == shared_out(made)


def shared_out(kernel: Kernel) -> list[Any]:
    """Programs with the operations of data steps counted, and those that are in a row joined."""
    members = {one.ph_id: len(one.pattern) for one in kernel.phases}

    def of(steps: tuple[Step, ...]) -> list[Any]:
        found: list[Any] = []
        for step in steps:
            if isinstance(step, DataStep):
                n = step.operations(members[step.ph_id])
                said = ["data", step.ph_id, step.handle, step.null_seeks]
                if found and found[-1][0] == said and not step.null_seeks:
                    found[-1] = (said, found[-1][1] + n)
                else:
                    found.append((said, n))
            elif isinstance(step, RepeatStep):
                found.append((step.times, of(step.steps)))
            elif isinstance(step, IrregularOrderStep):
                found.append(([of((one,)) for one in step.steps], step.order.tolist()))
            else:
                found.append((step.model_dump_json(), 1))
        return found

    return [(program.ranks, of(program.steps)) for program in kernel.programs]


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_changed_in_a_plan_gives_another_name(name: str) -> None:
    made = make_kernel(MODELS[name], Path(__file__))
    wanted, plan = kernel_hash(made), read_plan(lower(made))
    body, n_changed = json.loads(made.model_dump_json()), 0
    for part in ("n_ranks", "phases", "views", "infos", "communicators", "programs"):
        for other in mutations({part: body[part]}):
            try:
                mutant = Kernel.model_validate(body | other)
                if does_the_same(read_plan(lower(mutant)), plan) or is_inert(mutant, made):
                    continue
                found = kernel_hash(mutant)
            except (ValidationError, KernelError):
                continue  # refused
            n_changed += 1
            assert found != wanted, other
    assert n_changed > 20


@pytest.mark.parametrize("name", MODELS)
def test_what_is_no_part_of_what_a_kernel_does_is_no_part_of_its_name(name: str) -> None:
    made = make_kernel(MODELS[name], Path(__file__))
    other = {"application": "another", "model_sha256": "0" * 64, "ior": (), "metadata": ()}
    assert kernel_hash(made.model_copy(update=other)) == kernel_hash(made)


@pytest.mark.parametrize("name", MODELS)
def test_a_file_that_is_another_beforehand_gives_another_name(name: str) -> None:
    made = make_kernel(MODELS[name], Path(__file__))
    changes: list[Callable[[Any], dict[str, Any]]] = [
        lambda file: {"name": file.name + "x"},
        lambda file: {"prepare_bytes": file.prepare_bytes + 1},
        lambda file: {"role": "none" if file.role != "none" else "input"},
        lambda file: {"entries": file.entries + 1},
        lambda file: {"content_of": 99},
    ]
    for change in changes:
        first, *others = made.files
        files = (first.model_copy(update=change(first)), *others)
        assert kernel_hash(made.model_copy(update={"files": files})) != kernel_hash(made)


def test_loops_are_not_unfolded() -> None:
    """10**15 operations in loops at growing places, and each of 200,000 irregular ones once."""
    n = 10**5
    inner = RepeatStep(
        times=n, steps=(DataStep(ph_id=1, n=1), call("lseek"), DataStep(ph_id=2, n=10**5))
    )
    regular = [
        km.phase(1, 1, (0,), n * n, [km.member("pwrite", 8)], [km.linear(b=8)]),
        km.phase(2, 1, (0,), n**3, [km.member("pread", 8)], [km.linear(b=24)]),
    ]
    places = km.shuffled(200_000)
    irregular = km.phase(
        3, 1, (0,), len(places), [km.member("pwrite", 8)],
        [ListedOffsets(n_runs=[len(places)], count=1, rs=8, offset=[8 * place for place in places], disp=0)],
    )  # fmt: skip
    began = time.process_time()
    kernel_hash(
        kernel([*regular, irregular], [RepeatStep(times=n, steps=(inner, call("fsync"))), DataStep(ph_id=3, n=len(places))])
    )  # fmt: skip
    assert time.process_time() - began < 20  # unfolded it would not end
