"""What a campaign's ``what_if`` asks for: knobs of the application, and knobs of the layout of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.errors import UsageError
from wavetank.variants.layouts import LAYOUTS, shown
from wavetank.variants.make import check_settings, read_setting
from wavetank.variants.registry import knob_names

GROUPS = ("application", "layouts")
"""Words for all knobs of a kind."""


@dataclass(frozen=True)
class Asked:
    """Settings that are tried.

    Attributes:
        application: of the kernel: "request-size=1MiB", or a knob with all of its values.
        layouts: of the layout of files, each with its value, and how it is shown where it cannot be.
    """

    application: tuple[str, ...]
    layouts: tuple[tuple[str, str], ...]


def asked(what_if: bool | Sequence[str]) -> Asked:
    """What is tried; yes is every knob of the application.

    Raises:
        UsageError: there is no such knob, no such value, or one is named twice.
    """
    if isinstance(what_if, bool):
        return Asked(tuple(knob_names()) if what_if else (), ())
    for position, setting in enumerate(what_if):
        if setting in what_if[:position]:
            raise UsageError(f"{setting} is named twice")
    own: list[str] = []
    layouts: list[tuple[str, str]] = []
    for setting in what_if:
        if setting == "application":
            own += knob_names()
        elif setting == "layouts":
            layouts += [each for name in LAYOUTS for each in _values(name)]
        elif read_setting(setting)[0] in LAYOUTS:
            layouts += _values(setting)
        else:
            own.append(setting)
    for setting, _ in layouts:
        shown(setting)  # sees its value
    own = list(dict.fromkeys(own))
    check_settings(own)
    return Asked(tuple(own), tuple(dict.fromkeys(layouts)))


def _values(setting: str) -> list[tuple[str, str]]:
    """Each setting that one of the layout stands for."""
    name, value = read_setting(setting)
    if value is not None:
        return [(setting, setting)]
    return [(f"{name}={each}", name) for each in LAYOUTS[name].values]
