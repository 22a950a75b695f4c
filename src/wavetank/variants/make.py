"""Kernel -> variants: one with each knob turned alone, and the reasons of those that do not apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wavetank.errors import KernelError, UsageError
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.collectives import disagreements
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.certificate import certify
from wavetank.variants.registry import knob, knob_names


@dataclass(frozen=True)
class Variants:
    """Kernels with one knob turned each, and (setting, reason) of those that cannot be made."""

    kernels: tuple[Kernel, ...]
    refused: tuple[tuple[str, str], ...]


def make_variant(kernel: Kernel, setting: str) -> Kernel:
    """The kernel with one knob turned, with its certificate in ``variant``.

    Lines of benchmarks are those of the kernel as it is, and are left out.

    Args:
        kernel: the application's own.
        setting: "knob=value", or a knob of which only one value is tried.

    Raises:
        DoesNotApplyError: the knob has nothing to turn in this kernel.
        UsageError: there is no such knob, or no such value of it.
        KernelError: the kernel is a variant itself, or what was made of it is not equal.
    """
    name, value = read_setting(setting)
    chosen = knob(name)
    _require_own(kernel)
    if value is None:
        values = chosen.values(kernel)
        if len(values) > 1:
            raise UsageError(f"{name} takes {chosen.takes}: write for example {name}={values[0]}")
        value = values[0]
    setting = f"{name}={value}"
    turned = chosen.turned(kernel, value)
    for reason in disagreements(turned.kernel):
        raise DoesNotApplyError(f"its ranks would wait for each other for ever: {reason}")
    certificate = certify(kernel, chosen.title, setting, turned)
    return turned.kernel.model_copy(
        update={
            "variant": certificate,
            "ior": (), "ior_refused": (), "mdtest": (), "mdtest_refused": (),
        }
    )  # fmt: skip


def make_variants(kernel: Kernel, settings: Sequence[str] = ()) -> Variants:
    """A variant for each setting; those of every knob where none is named.

    Raises:
        UsageError: there is no such knob, or no such value of it.
        KernelError: the kernel is a variant itself.
    """
    _require_own(kernel)
    made: list[Kernel] = []
    refused: list[tuple[str, str]] = []
    for setting, shown in _settings(kernel, settings):
        try:
            made.append(make_variant(kernel, setting))
        except KernelError as error:  # it does not apply, or what was made is not equal
            refused.append((shown, str(error)))
    # Values of one knob that do not apply for the same reason are one line.
    return Variants(tuple(made), tuple(dict.fromkeys(refused)))


def _require_own(kernel: Kernel) -> None:
    if kernel.variant is not None:
        raise KernelError(
            f"the kernel has {kernel.variant.setting} turned already, and a variant turns one knob: begin with the "
            "application's own kernel"
        )


def check_settings(settings: Sequence[str]) -> None:
    """Refuse settings whose knob does not exist, or that are named twice.

    Raises:
        UsageError: the first of them.
    """
    for position, setting in enumerate(settings):
        knob(read_setting(setting)[0])
        if setting in settings[:position]:
            raise UsageError(f"{setting} is named twice")


def _settings(kernel: Kernel, settings: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each setting with its value, and how it is shown where it does not apply."""
    for setting in settings or knob_names():
        name, value = read_setting(setting)
        if value is not None:
            yield setting, setting
            continue
        for each in knob(name).values(kernel):
            yield f"{name}={each}", name


def read_setting(setting: str) -> tuple[str, str | None]:
    """A knob's name and its value; None where only the knob is named.

    Raises:
        UsageError: it names none.
    """
    name, equals, value = setting.partition("=")
    if not name or (equals and not value):
        raise UsageError(
            f"{setting!r} names no knob and value. Write KNOB=VALUE, e.g. request-size=1MiB"
        )
    return name, value if equals else None
