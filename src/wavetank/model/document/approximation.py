"""What an approximate model says of itself: what the counters that it was made from say exactly, and what is assumed."""

from __future__ import annotations

from pydantic import Field

from wavetank.document import Record


class Quantity(Record):
    """A number that was counted, and the same number of the model."""

    what: str
    counted: int | None = Field(description="by the log; None: it does not say")
    model: int
    least: int | None = Field(default=None, description="that is possible, by the counters")
    most: int | None = Field(default=None, description="that is possible, by the counters")

    @property
    def bounds(self) -> str:
        """What is possible, in words."""
        if self.least is None or self.most is None:
            return "exact" if self.counted == self.model else "nearly"
        return "exact" if self.least == self.most == self.model else f"{self.least} to {self.most}"


class Approximation(Record):
    """Where an approximate model comes from."""

    made_from: str = Field(description="the source: counters of which tool")
    quantities: tuple[Quantity, ...]
    exact: tuple[str, ...] = Field(description="what the counters say, a sentence each")
    assumed: tuple[str, ...] = Field(description="what they do not say, and was chosen")

    def sentence(self) -> str:
        """Whence it is, for titles and notes."""
        return (
            f"approximate, made from {self.made_from}: files, operations and bytes are counted, the order of operations, "
            "their places and what each rank did of a shared record are assumed"
        )
