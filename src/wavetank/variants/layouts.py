"""Knobs of the layout of files on data servers: a cluster is turned, and the kernel stays as it is.

Which knobs and values there are, and the certificate of such a kernel. What a cluster makes of a value is known where
clusters are (``wavetank.campaign.turned_clusters``).
"""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.errors import UsageError
from wavetank.kernel.document.kernel import Kernel
from wavetank.units import exact_size, parse_size
from wavetank.variants.base import Turned
from wavetank.variants.certificate import certify

WHOLE = "one-server-per-file"
"""Value of the knob ``layout``: 1DFx1F."""
MOST_SERVERS = 64
"""Of a stripe count, as in a cluster file."""
AS_IT_IS = "as it is"
"""In place of a value before: each cluster has its own."""
UNCHANGED = "Calls and bytes are the application's own. The layout of its files on the data servers is what changes."


@dataclass(frozen=True)
class LayoutKnob:
    """A knob of the layout.

    Attributes:
        title: in sentences.
        takes: what values it takes, for messages.
        values: that are tried where none is named.
    """

    title: str
    takes: str
    values: tuple[str, ...]


LAYOUTS = {
    "stripe-size": LayoutKnob("stripe size", "a size, e.g. 1MiB", ("1MiB", "16MiB")),
    "stripe-count": LayoutKnob(
        "stripe count", f"a number of data servers, 1 to {MOST_SERVERS}", ("1", "2")
    ),
    "layout": LayoutKnob("layout", f"striped or {WHOLE}", (WHOLE,)),
}


def shown(setting: str) -> str:
    """The value of a knob of the layout for people: "1 MiB", "2 data servers", "1DFx1F".

    Raises:
        UsageError: it is no value of the knob.
    """
    name, _, value = setting.partition("=")
    if name == "stripe-size":
        return exact_size(size_of(value))
    if name == "stripe-count":
        count = count_of(value)
        return f"{count} data {'server' if count == 1 else 'servers'}"
    if value not in ("striped", WHOLE):
        raise _wrong(name, value)
    return "1DFx1F" if value == WHOLE else value


def size_of(value: str) -> int:
    """A stripe size in bytes.

    Raises:
        UsageError: it is none.
    """
    try:
        size = parse_size(value)
    except ValueError as error:
        raise UsageError(f"stripe-size takes {LAYOUTS['stripe-size'].takes}: {error}") from error
    if size < 1:
        raise _wrong("stripe-size", value)
    return size


def stripe_of(setting: str) -> int | None:
    """The stripe size in bytes that a setting asks for; None: it is another knob.

    Raises:
        UsageError: its value is no size.
    """
    name, _, value = setting.partition("=")
    return size_of(value) if name == "stripe-size" else None


def count_of(value: str) -> int:
    """A stripe count.

    Raises:
        UsageError: it is none.
    """
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= MOST_SERVERS):
        raise _wrong("stripe-count", value)
    return int(value)


def certified(kernel: Kernel, setting: str) -> Kernel:
    """The kernel as it is, with the certificate that it is, and what is turned beside it.

    Args:
        kernel: the application's own.
        setting: "stripe-size=1MiB".

    Raises:
        UsageError: it is no value of the knob.
        KernelError: the kernel's programs do not make all of its calls.
    """
    name = setting.partition("=")[0]
    turned = Turned(kernel, AS_IT_IS, shown(setting), notes=(UNCHANGED,))
    certificate = certify(kernel, LAYOUTS[name].title, setting, turned)
    return kernel.model_copy(update={"variant": certificate.model_copy(update={"of": "layout"})})


def _wrong(name: str, value: str) -> UsageError:
    return UsageError(f"{name} takes {LAYOUTS[name].takes}, and not {value!r}")
