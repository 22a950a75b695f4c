"""Colours that can be read, in both themes."""

from __future__ import annotations

import pytest

from wavetank.report.plots.theme import LIGHT, ROLE_OF, ROLES

DARK = {role: pair[1] for role, pair in ROLES.items()}


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_on_white_is_21_as_defined() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("background", ["paper", "panel"])
@pytest.mark.parametrize("role", ["ink", "muted", "accent", "good", "warn"])
def test_text_can_be_read_on_every_background(theme, background, role) -> None:
    assert contrast(theme[role], theme[background]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize(
    "role", [r for r in ROLES if r.startswith(("series", "size", "read", "write", "other"))]
)
def test_marks_stand_out_from_the_paper(theme, role) -> None:
    assert contrast(theme[role], theme["paper"]) >= 3.0


def test_each_role_has_a_colour_of_its_own() -> None:
    # A plot's colours are found again by their value: two roles with one value would be one role.
    assert len(ROLE_OF) == len(ROLES)
