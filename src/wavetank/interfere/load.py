"""Reading everything that an interference file names, and keeping copies of it with the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from wavetank.campaign.facts import ClusterFacts, with_titles
from wavetank.campaign.layouts import ReadCluster
from wavetank.campaign.load import keep_clusters
from wavetank.campaign.problems import Problems
from wavetank.campaign.store import Store
from wavetank.document import make_folder, write_whole
from wavetank.interfere.placement import Group
from wavetank.interfere.plan import make_group
from wavetank.interfere.spec import GroupEntry, InterfereSpec
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model

STUDY = "study.yaml"
"""The copy of the specification in the folder of the results."""


@dataclass(frozen=True)
class LoadedStudy:
    """An interference file with what it names."""

    spec: InterfereSpec
    groups: tuple[Group, ...]
    clusters: tuple[ClusterFacts, ...]


def load_study(spec: InterfereSpec, read_cluster: ReadCluster) -> LoadedStudy:
    """Read every file of an interference study.

    Args:
        spec: with absolute paths.
        read_cluster: reads and checks a cluster file.

    Raises:
        SpecError: everything that is wrong in any of the files, at once.
    """
    problems = Problems()
    read_groups = [
        problems.attempt(partial(_group, entry, spec.object_sizes)) for entry in spec.groups
    ]
    read_clusters = [
        problems.attempt(partial(read_cluster, *source)) for source in spec.cluster_sources()
    ]
    clusters = [each for each in read_clusters if each is not None]
    problems.note_names_that_stand_twice([each.name for each in clusters], "cluster")
    problems.note_titles_that_stand_twice({each.name: each.own_title for each in clusters})
    problems.stop_if_any(f"study {spec.name}")
    groups = tuple(each for each in read_groups if each is not None)
    return LoadedStudy(spec, groups, with_titles(clusters))


def keep_copies(loaded: LoadedStudy, store: Store) -> None:
    """Put copies of all that the study was made from into its folder, so that it stands alone.

    Raises:
        DocumentError: a file cannot be written.
    """
    make_folder(store.folder / "applications")
    entries = []
    for group in loaded.groups:
        entry = group.entry.model_dump(mode="json", exclude_unset=True, exclude={"model", "kernel"})
        if group.is_application:
            path = store.kernel_path(group.name)
            group.kernels[None].write(path)
            entry["kernel"] = str(path.relative_to(store.folder))
        entries.append(entry)
    body = loaded.spec.model_dump(mode="json", exclude_unset=True, exclude={"layouts"}) | {
        "groups": entries,
        "clusters": keep_clusters(loaded.clusters, store),
        "output": ".",
    }
    write_whole(
        store.folder / STUDY,
        "# The study as it was run, with copies of all that it names: wavetank interfere FILE\n"
        + yaml.safe_dump(body, sort_keys=False, allow_unicode=True),
    )


def _group(entry: GroupEntry, sizes: Sequence[int]) -> Group:
    return make_group(entry, sizes, _application(entry.kernel, entry.model))


def _application(kernel: Path | None, model: Path | None) -> Kernel | None:
    if kernel is not None:
        return Kernel.read(kernel)
    return None if model is None else make_kernel(Model.read(model), model)
