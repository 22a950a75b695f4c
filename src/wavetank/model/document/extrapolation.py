"""What an extrapolated model says of itself: from which runs it is, by which functions, and what no function gives."""

from __future__ import annotations

from pydantic import Field

from wavetank.document import Record


class FittedField(Record):
    """One field as a function of the number of processes np and the rank."""

    ranks: str = Field(description="the group of ranks that it is of, as a function of np")
    ph_id: int | None = Field(
        description="phase of the run that is nearest to the extrapolated one; None: of a file view"
    )
    field: str
    function: str
    n_checks: int = Field(
        description="runs more than the function has parameters: what its being exact rests on"
    )


class NotExtrapolated(Record):
    """Something that no function of the number of processes gives."""

    ph_ids: tuple[int, ...] = Field(
        description="phases of the model that it is about; empty: it is not in the model at all"
    )
    what: str
    reason: str


class Extrapolation(Record):
    """Where an extrapolated model comes from."""

    n_ranks: int = Field(description="processes of the run, which was not traced")
    traced_np: tuple[int, ...] = Field(description="numbers of processes of the traced runs")
    n_checks: int = Field(description="the least of the fields' n_checks")
    fields: tuple[FittedField, ...] = ()
    not_extrapolated: tuple[NotExtrapolated, ...] = ()

    def sentence(self) -> str:
        """Whence it is, for titles and notes."""
        traced = ", ".join(map(str, self.traced_np))
        return f"extrapolated to np {self.n_ranks} from traces at np {traced}: never traced"
