"""The numbers by which an extraction decides: what is a run, a pattern, an irregular order, a family of files.

A model says which it was made with. The method gives the rules (section 2) and the window of similar values, and no
numbers. Each description ends with where the number comes from:

- derived: it follows from another number of wavetank, or from what lists and plots take.
- chance: fewer come by chance too often. Sizes that are equally likely are similar in 18 % of the steps from one
  operation to the next; two calls by the toss of a coin are the same in half of them.
- tried: there is no derivation. ``benchmarks/model/thresholds.py`` measures what half and twice of it change.
"""

from __future__ import annotations

from pydantic import Field

from wavetank.document import Record


class Thresholds(Record):
    """Thresholds of one extraction. Each description says the unit, and why it is that number."""

    run_operations: int = Field(
        default=4,
        ge=2,
        description="operations in a row that are a phase of their own unless a longer pattern repeats them, and irregular pieces "
        "in a row that are one phase; three similar steps come once in 160 by chance, two once in 30 (chance)",
    )
    similar_operations: int = Field(
        default=16,
        ge=1,
        description="operations from which on similar ones are a phase although they are not equal; 15 similar steps come "
        "once in 100,000,000,000 by chance (chance)",
    )
    pieces: int = Field(
        default=64,
        ge=1,
        description="phases into which a stretch may come apart, and changes of call in an order; beyond it is one phase of each "
        "call, with listed offsets: a table shows 300 phases of all streams (tried)",
    )
    pattern_operations: int = Field(
        default=16,
        ge=2,
        description="operations of a pattern without runs in it, and runs and single operations of one with runs; each length costs "
        "a look at all operations (tried)",
    )
    nested_operations: int = Field(
        default=64,
        ge=2,
        description="operations of a pattern with runs in it; a longer one would be read as several phases (tried)",
    )
    long_operations: int = Field(
        default=1024,
        ge=1,
        description="operations of a regular piece from which on an irregular order ends at it: three times the phases that a "
        "table shows (tried)",
    )
    family_files: int = Field(
        default=100,
        ge=1,
        description="files from which on those that are used alike are a family; fewer can be read one by one, a table "
        "shows 200 (tried)",
    )
    family_files_of_rank: int = Field(
        default=8,
        ge=1,
        description="files of a family for each rank that uses it: some files for each process stay files of their own, "
        "since fit and benchmarks' lines work on those (tried)",
    )
    metadata_phases: int = Field(
        default=256,
        ge=1,
        description="phases of calls that move no data, from which on those of the same ranks and calls are one: a table "
        "shows 300 (derived)",
    )


DEFAULT_THRESHOLDS = Thresholds.model_construct()
