"""Which tables commands of several modules print: what ``prints`` declares of them. Tables are imported when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from wavetank.tables.table import Definition

Definitions: TypeAlias = "tuple[Definition[Any], ...]"


def model_definitions() -> Definitions:
    """Of a model."""
    from wavetank.findings.findings_table import FINDINGS
    from wavetank.model.tables.approximation_tables import ASSUMPTIONS, QUANTITIES
    from wavetank.model.tables.model_tables import DEFINITIONS

    return (FINDINGS, QUANTITIES, ASSUMPTIONS, *DEFINITIONS)


def difference_definitions() -> Definitions:
    """Of two models side by side."""
    from wavetank.model.comparison.difference_table import DIFFERENCES

    return (DIFFERENCES,)


def measurement_definitions() -> Definitions:
    """Of what a campaign's folder holds."""
    from wavetank.campaign.measurement_table import MEASUREMENTS

    return (MEASUREMENTS,)


def comparison_definitions() -> Definitions:
    """Of what a campaign or a study found."""
    from wavetank.compare.tables.all import DEFINITIONS
    from wavetank.interfere.tables import DEFINITIONS as STUDY

    return (*DEFINITIONS, *STUDY)


def check_definitions() -> Definitions:
    """Of results against a baseline."""
    from wavetank.compare.tables.check import CHECK

    return (CHECK,)


def campaign_definitions() -> Definitions:
    """Of a campaign that is run, or planned alone."""
    from wavetank.cli.campaign_tables import PLAN, REFUSED

    return (PLAN, REFUSED, *comparison_definitions())


def plan_definitions() -> Definitions:
    """Of a cluster that is planned."""
    from wavetank.cli.cluster_cloud import COST_UNTIL_END
    from wavetank.cli.cluster_cost import DEFINITIONS as COSTS
    from wavetank.cli.cluster_plan import DEFINITIONS

    return (*DEFINITIONS, *COSTS, COST_UNTIL_END)


def spaces_definitions() -> Definitions:
    """Of spaces of a service."""
    from wavetank.cli.space_tables import SPACES

    return (SPACES,)


def choice_definitions() -> Definitions:
    """Of a space that is asked for: what may be chosen for a kernel, and the space."""
    from wavetank.cli.space_tables import OPTIONS, SPACES

    return (OPTIONS, SPACES)


def space_definitions() -> Definitions:
    """Of one space."""
    from wavetank.cli.space_tables import EVENTS, RULES, SPACES

    return (SPACES, RULES, EVENTS)
