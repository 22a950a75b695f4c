"""Colours and type of every plot and page: one place, two themes.

A plot is drawn in the light colours. Each role has a hexadecimal value of its own, so that the page
can exchange it for a CSS variable and follow the reader's light or dark setting.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

# role -> (light, dark). Contrast of text roles on their background is at least 4.5:1 in both themes
# (WCAG 2.1 AA), that of marks at least 3:1; tests/unit/report/plots/test_report_theme.py computes it.
ROLES = MappingProxyType(
    {
        "paper": ("#fdfdfc", "#12171d"),
        "panel": ("#f4f5f3", "#1a2129"),
        "ink": ("#1b232c", "#e4e8ec"),
        "muted": ("#55606c", "#a0abb7"),
        "rule": ("#d9dddf", "#303a45"),
        "accent": ("#0b5c8a", "#7cc0ea"),
        "good": ("#1f6b45", "#74cda0"),
        "warn": ("#8a4b00", "#eab26a"),
        "read": ("#1d6ea8", "#69b3e7"),
        "write": ("#bf5014", "#ef9a61"),
        "other": ("#76808b", "#8c97a3"),
        # categories (process mappings): told apart also by those who do not see red and green
        "series-1": ("#23648f", "#3f87b8"),
        "series-2": ("#c96a12", "#b9772f"),
        "series-3": ("#2b7d66", "#3d957a"),
        "series-4": ("#8c4a8f", "#a36ba7"),
        "series-5": ("#6b6f12", "#8d9036"),
        "series-6": ("#a83a4d", "#b85c6c"),
        # request sizes, small to large: ochre over teal to deep blue, paler in the dark theme
        "size-1": ("#b8860f", "#8d6a1d"),
        "size-2": ("#9c8f1c", "#9b8a2a"),
        "size-3": ("#6f9430", "#7f9a3c"),
        "size-4": ("#3f9150", "#5aa75a"),
        "size-5": ("#1f8a70", "#3fb284"),
        "size-6": ("#1a7d8c", "#35b8ae"),
        "size-7": ("#1f6a9c", "#4cb8d4"),
        "size-8": ("#2c539b", "#76b6ee"),
        "size-9": ("#3a3b8c", "#a2b4f7"),
        "size-10": ("#3d2670", "#cdbcfb"),
    }
)

LIGHT = MappingProxyType({role: pair[0] for role, pair in ROLES.items()})
ROLE_OF = MappingProxyType({light: role for role, light in LIGHT.items()})

SERIES = tuple(LIGHT[f"series-{n}"] for n in range(1, 7))
SIZES = tuple(LIGHT[f"size-{n}"] for n in range(1, 11))

# The first that the reader's machine has. All have figures of equal width.
FONTS = ("Inter", "Source Sans 3", "Segoe UI", "Helvetica Neue", "Liberation Sans", "Arial")

_MATPLOTLIB = MappingProxyType(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["Liberation Sans", "Arial", "DejaVu Sans"],
        "font.size": 8.5,
        "text.color": LIGHT["ink"],
        "text.parse_math": False,  # a file may be called "a$b$c"
        "axes.edgecolor": LIGHT["rule"],
        "axes.labelcolor": LIGHT["muted"],
        "axes.labelsize": 8.5,
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.titlecolor": LIGHT["ink"],
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": LIGHT["rule"],
        "grid.linewidth": 0.6,
        "xtick.color": LIGHT["rule"],
        "ytick.color": LIGHT["rule"],
        "xtick.labelcolor": LIGHT["muted"],
        "ytick.labelcolor": LIGHT["muted"],
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "svg.fonttype": "none",  # text stays text: searchable, readable aloud, in the page's font
        "svg.hashsalt": "wavetank",  # equal input, equal file
        "path.simplify": True,
    }
)


def css_variables(theme: int) -> str:
    """Declarations of all colours: ``theme`` 0 is light, 1 is dark."""
    return "".join(f"--{role}:{pair[theme]};" for role, pair in ROLES.items())


def matplotlib_settings() -> dict[Any, Any]:
    """The style of every plot, as ``matplotlib.rc_context`` takes it."""
    return dict(_MATPLOTLIB)
