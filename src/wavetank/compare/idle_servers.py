"""Data servers that hold no file of the application, because each file lies whole on one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.compare.comparison import Advice
from wavetank.compare.configuration import Configuration
from wavetank.compare.knobs import DATA_SERVERS, LAYOUT, WHOLE_FILES, Knobs
from wavetank.kernel.document.kernel import Kernel


def idle_servers(
    application: str,
    kernel: Kernel,
    configurations: Sequence[Configuration],
    knobs: Mapping[str, Knobs],
) -> tuple[Advice, ...]:
    """Clusters of which some servers never take part, whatever their file system does with names.

    Args:
        application: its name in the campaign.
        kernel: its kernel.
        configurations: of it.
        knobs: cluster name -> what was chosen for it.
    """
    n_files = _n_files(kernel)
    found = {
        each.cluster_title: n - n_files
        for each in configurations
        if (chosen := knobs.get(each.cluster)) is not None
        and chosen.of(LAYOUT) == WHOLE_FILES
        and (n := int(chosen.of(DATA_SERVERS))) > n_files > 0
    }
    if not found:
        return ()
    files = "one file" if n_files == 1 else f"{n_files} files"
    which = "; ".join(
        f"{title}: {n} data server{'s' if n > 1 else ''} never took part"
        for title, n in found.items()
    )
    sentence = (
        f"{which}. Each file lies whole on one server, and {application} moves data of {files}. Spread it: stripe "
        "{kind: sharded} in the cluster file."
    )
    return (Advice(about="cluster", application=application, sentence=sentence, evidence=()),)


def _n_files(kernel: Kernel) -> int:
    """Files of which the kernel moves data."""
    used = {phase.file_id for phase in kernel.phases if phase.ph_weight}
    return sum(
        1 if each.members is None else len(each.members.names)
        for each in kernel.files
        if each.file_id in used
    )
