"""Everything that a campaign's folder holds, read once for a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from wavetank.campaign.baseline import read_baseline
from wavetank.campaign.database import SPEC
from wavetank.campaign.results_folder import open_store
from wavetank.campaign.store import Store
from wavetank.campaign.stored_campaign import current_comparison
from wavetank.compare.comparison import Comparison
from wavetank.compare.regression import Check, check
from wavetank.errors import ReportError
from wavetank.interfere.load import STUDY
from wavetank.interfere.stored_study import current_study, is_study
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.result import Measurement
from wavetank.measure.together_result import TogetherMeasurement
from wavetank.model.document.model import Model


@dataclass(frozen=True)
class Campaign:
    """A campaign's results.

    Attributes:
        comparison: what they say.
        measurements: in the order in which they were made.
        models: by application; only those whose model the campaign named.
        kernels: by application.
        cluster_specs: cluster -> what its specification says, flat: "data_servers" -> "2".
        together: runs of several groups, of an interference study.
        check: against earlier results, where that was asked for.
        spec_text: the campaign file as it was written; None where it is gone.
    """

    comparison: Comparison
    measurements: tuple[Measurement, ...]
    models: Mapping[str, Model]
    kernels: Mapping[str, Kernel]
    cluster_specs: Mapping[str, Mapping[str, str]]
    spec_text: str | None
    together: tuple[TogetherMeasurement, ...] = ()
    check: Check | None = None

    @property
    def applications(self) -> tuple[str, ...]:
        """Names in the order of the comparison, those without a result last."""
        if self.comparison.interference is not None:  # its groups are no applications to choose for
            return ()
        names = [c.application for c in self.comparison.configurations]
        names += [part.application for part in self.comparison.not_measured]
        return tuple(dict.fromkeys(names))


def read_folder(folder: Path, against: Path | None = None) -> Campaign:
    """Read a campaign's folder.

    Args:
        folder: of the results.
        against: results folder or baseline of an earlier campaign, to be compared with.

    Raises:
        MeasurementError: it holds no results, or damaged ones; or they cannot be compared with the earlier ones.
        ModelError, KernelError, ReportError: a copy of an input in it is damaged.
    """
    found = None
    if against is not None:
        found = check(read_baseline(folder), read_baseline(against))
    with open_store(folder) as store:
        study = is_study(store)
        comparison = current_study(store) if study else current_comparison(store)
        measurements = tuple(store.measurements())
        names = {c.application for c in comparison.configurations}
        names |= {part.application for part in comparison.not_measured}
        clusters = {c.cluster for c in comparison.configurations}
        return Campaign(
            comparison=comparison,
            measurements=measurements,
            models={
                name: Model.read(path)
                for name in names
                if (path := store.model_path(name)).is_file()
            },
            kernels={
                name: Kernel.read(path)
                for name in names
                if (path := store.kernel_path(name)).is_file()
            },
            cluster_specs={name: _cluster_spec(store, name) for name in clusters},
            spec_text=_text_or_none(folder / (STUDY if study else SPEC)),
            together=tuple(store.together().values()),
            check=found,
        )


def flatten(value: object, prefix: str = "") -> dict[str, str]:
    """Nested keys and values as one level: {"network": {"rate": 1}} -> {"network rate": "1"}."""
    if isinstance(value, Mapping):
        found: dict[str, str] = {}
        for key, inner in value.items():
            found |= flatten(inner, f"{prefix} {key}".strip().replace("_", " "))
        return found
    if isinstance(value, list):
        if any(isinstance(inner, Mapping | list) for inner in value):
            found = {}
            for position, inner in enumerate(value, 1):
                found |= flatten(inner, f"{prefix} {position}")
            return found
        return {prefix: ", ".join(str(inner) for inner in value) or "none"}
    shown = {None: "none", True: "yes", False: "no"}
    return {prefix: shown[value] if value is None or isinstance(value, bool) else str(value)}


def _cluster_spec(store: Store, cluster: str) -> dict[str, str]:
    text = _text_or_none(store.cluster_path(cluster))
    if text is None:
        return {}
    try:
        return flatten(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise ReportError(
            f"{store.cluster_path(cluster)} is not valid YAML: {error}. "
            "It is the campaign's copy of the cluster's specification; run the campaign again"
        ) from error


def _text_or_none(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"cannot read {path}: {error}. Check its permissions") from error
