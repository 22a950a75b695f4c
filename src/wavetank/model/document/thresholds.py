"""The numbers by which an extraction decides: what is a run, a pattern, an irregular order, a family of files.

A model says which it was made with. The method gives the rules (section 2) and the window of similar values, and no
numbers. Each description ends with where the number comes from:

- derived: it follows from another number of wavetank, or from what rows, lists and plots take.
- chance: fewer come by chance too often. Sizes that are equally likely are similar in 18 % of the steps from one
  operation to the next; two calls by the toss of a coin are the same in half of them.
- tried: there is no derivation. ``benchmarks/model/thresholds.py`` measures what half and twice of it change.

A row takes 185 bytes, an entry of a list 8 for an offset and 8 for a size.
"""

from __future__ import annotations

from pydantic import Field

from wavetank.document import Record


class Thresholds(Record):
    """Thresholds of one extraction. Each description says the unit, and why it is that number."""

    # Compression: what of a trace's single operations is one row.
    equal_steps: int = Field(
        default=3,
        ge=2,
        description="equal steps from one operation to the next that make a row: a row holds as many operations as a run "
        "that is a phase, run_operations (derived)",
    )
    folded_operations: int = Field(
        default=64,
        ge=1,
        description="operations a row, on average, from which on rows are not searched for loops and stretches: they take "
        "3 bytes an operation then, less than a list (derived)",
    )
    compacted_operations: int = Field(
        default=1024,
        ge=1,
        description="operations of an irregular stretch, and of what is searched for loops; below it single rows take 190 "
        "kB at most (tried)",
    )
    loop_repetitions: int = Field(
        default=8,
        ge=2,
        description="repetitions of a loop; a loop of fewer saves few rows (tried)",
    )
    loop_operations: int = Field(
        default=64,
        ge=1,
        description="operations of a loop's body: as many as the passes in C compare side by side, WT_MOST_PERIOD "
        "(derived)",
    )
    regular_run: int = Field(
        default=16,
        ge=2,
        description="operations of a regular run that stays a row of its own inside an irregular stretch: as entries of a "
        "list they take 128 to 256 bytes, as a row 185 (derived)",
    )
    recurring_operations: int = Field(
        default=32,
        ge=1,
        description="operations that must recur before a loop is looked for; 32 of two calls recur by chance once in "
        "4,000,000,000 (chance)",
    )
    woven_operations: int = Field(
        default=256,
        ge=1,
        description="operations of a range in which several kinds alternate, from which on they are an interleaving; below it "
        "single rows take 47 kB at most (tried)",
    )
    strand_operations: int = Field(
        default=32,
        ge=1,
        description="operations of one substream that are a row without regularity; fewer stay single rows, 6 kB at most (tried)",
    )
    order_probe: int = Field(
        default=512,
        ge=1,
        description="operations of an interleaving from one place to the next at which an order is looked for: half of "
        "mix_long_order, for which a pattern must go on at least (derived)",
    )
    order_head: int = Field(
        default=32,
        ge=1,
        description="operations of an interleaving that must recur to be an order; as recurring_operations (chance)",
    )
    order_period: int = Field(
        default=64,
        ge=1,
        description="operations of a repeated order in an interleaving; as loop_operations: a longer one would be no loop either "
        "(derived)",
    )
    # Files that are used alike.
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
    # Phases.
    run_operations: int = Field(
        default=4,
        ge=2,
        description="operations in a row that are a phase of their own unless a longer pattern repeats them; three "
        "similar steps come once in 160 by chance, two once in 30 (chance)",
    )
    similar_operations: int = Field(
        default=16,
        ge=1,
        description="operations from which on similar ones are a phase although they are not equal; 15 similar steps come "
        "once in 100,000,000,000 by chance (chance)",
    )
    scraps: int = Field(
        default=4,
        ge=2,
        description="irregular pieces in a row that are joined to one phase; as run_operations (tried)",
    )
    pieces: int = Field(
        default=64,
        ge=1,
        description="phases into which a stretch may come apart; beyond it is one phase with listed offsets: a table "
        "shows 300 phases of all streams (tried)",
    )
    pattern_operations: int = Field(
        default=16,
        ge=1,
        description="operations of a pattern without runs in it; each length costs a look at all operations (tried)",
    )
    nested_stretches: int = Field(
        default=16,
        ge=2,
        description="runs and single operations of a pattern with runs in it; as pattern_operations (tried)",
    )
    nested_operations: int = Field(
        default=64,
        ge=2,
        description="operations of a pattern with runs in it; as loop_operations: a longer one would not fold (derived)",
    )
    sampled_repetitions: int = Field(
        default=80,
        ge=2,
        description="repetitions of a folded loop that patterns are looked for in: rules of patterns count to 64, pieces, "
        "and to 16 beside it, similar_operations (derived)",
    )
    mix_turns: int = Field(
        default=64,
        ge=1,
        description="changes from one operation to another that make an irregular order; fewer are no more phases than a range "
        "may be split into, pieces (derived)",
    )
    mix_order: int = Field(
        default=64,
        ge=1,
        description="operations from which on one operation, or a repeated pattern of several, is an order; as mix_turns: "
        "so it is no shorter than an irregular order (derived)",
    )
    mix_long_order: int = Field(
        default=1024,
        ge=1,
        description="operations in an order from which on they split an irregular order; as compacted_operations: from there on they "
        "are a loop or a list of their own (derived)",
    )
    mix_most_turns: int = Field(
        default=1024,
        ge=1,
        description="turns without a boundary that are always an irregular order: three times the phases that a table "
        "shows (tried)",
    )
    mix_period: int = Field(
        default=32,
        ge=2,
        description="turns of a repeated pattern that is an order of its own; each length costs a look at all turns "
        "(tried)",
    )
    metadata_phases: int = Field(
        default=256,
        ge=1,
        description="phases of calls that move no data, from which on those of the same ranks and calls are one: a table "
        "shows 300 (derived)",
    )
    # Programs.
    loop_candidates: int = Field(
        default=4,
        ge=1,
        description="recurrences of a step that are tried as the length of a program's loop: a body that begins with a "
        "step is found where it holds that step up to 4 times (tried)",
    )
    short_program: int = Field(
        default=512,
        ge=1,
        description="steps up to which a program is looked through loop by loop, and has no irregular orders; beyond it a loop must "
        "recur over recurring_steps (tried)",
    )
    mix_steps: int = Field(
        default=256,
        ge=1,
        description="steps of an irregular order in a program; as woven_operations: each interleaving can be one (derived)",
    )
    mix_recurrences: int = Field(
        default=4,
        ge=1,
        description="how often each different step of a program's irregular order comes at least, on average (tried)",
    )
    mix_any_steps: int = Field(
        default=1024,
        ge=1,
        description="steps of a program's irregular order whatever its different ones; as compacted_operations (tried)",
    )
    recurring_steps: int = Field(
        default=32,
        ge=1,
        description="steps that must recur before a loop of a program is looked for; as recurring_operations (chance)",
    )
    # The timeline.
    timeline_points: int = Field(
        default=4000,
        ge=1,
        description="points of a timeline: more than five for each of the 700 columns of a plot (derived)",
    )
    timeline_points_of_rank: int = Field(
        default=20_000,
        ge=1,
        description="points where one rank alone has more parts than timeline_points; its phases take more room than that "
        "(tried)",
    )
    timeline_pieces: int = Field(
        default=8,
        ge=1,
        description="points of each rank's part in a phase for which ranks are left out (tried)",
    )
    part_points: int = Field(
        default=100,
        ge=1,
        description="points of one rank's part in one phase: each is seven columns of a plot (derived)",
    )
    scattered_points: int = Field(
        default=1000,
        ge=1,
        description="the same where its operations lie in no order: each point is one place, and a plot has 700 columns "
        "(derived)",
    )
    idle_parts: int = Field(
        default=200,
        ge=1,
        description="parts of a run's time, each three columns of a plot: shorter idle times are not kept (derived)",
    )
    idle_times: int = Field(
        default=20_000,
        ge=1,
        description="idle times that are kept: the longest ones; as timeline_points_of_rank (tried)",
    )
    # Traces that are put together from counters.
    counted_sweeps: int = Field(
        default=64,
        ge=1,
        description="backward jumps of a rank, of which only counters are known, from which on places are random; fewer "
        "are passes over the file, each a row: as many as pieces (derived)",
    )
    counted_rows: int = Field(
        default=400_000,
        ge=1,
        description="rows of all records together that irregular patterns may take where only counters are known: 72 MB "
        "of rows (tried)",
    )
    counted_rows_of_record: int = Field(
        default=16,
        ge=1,
        description="rows that each record may take at least, however many records there are (tried)",
    )


DEFAULT_THRESHOLDS = Thresholds.model_construct()
