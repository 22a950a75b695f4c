"""The numbers by which an extraction decides: what is a run, a pattern, a mix, a family of files.

A model says which it was made with. All are choices of wavetank unless a description names a source: the method
gives the rules (section 2) and the window of similar values, and no numbers.
"""

from __future__ import annotations

from pydantic import Field

from wavetank.document import Record


class Thresholds(Record):
    """Thresholds of one extraction. Each description says the unit, and why it is that number."""

    # Compression: what of a trace's single operations is one row.
    compacted_operations: int = Field(
        default=1024,
        ge=1,
        description="operations of an irregular stretch, and of what is searched for loops; below it single rows cost little (choice)",
    )
    loop_repetitions: int = Field(
        default=8,
        ge=2,
        description="repetitions of a loop; fewer save no rows worth the search (choice)",
    )
    loop_operations: int = Field(
        default=64,
        ge=1,
        description="operations of a loop's body: as many as the tracer folds (choice)",
    )
    regular_run: int = Field(
        default=16,
        ge=2,
        description="operations of a regular run that stays a row of its own inside an irregular stretch (choice)",
    )
    recurring_operations: int = Field(
        default=32,
        ge=1,
        description="operations that must recur before a loop is looked for; fewer recur by chance (choice)",
    )
    woven_operations: int = Field(
        default=256,
        ge=1,
        description="operations of a stretch in which several kinds take turns, from which on it is woven (choice)",
    )
    strand_operations: int = Field(
        default=32,
        ge=1,
        description="operations of one kind in a weave that are a row without regularity; fewer stay single (choice)",
    )
    order_probe: int = Field(
        default=512,
        ge=1,
        description="operations of a weave that are looked at for an order before all of them are (choice)",
    )
    order_head: int = Field(
        default=32,
        ge=1,
        description="operations of a weave that must recur to be an order (choice)",
    )
    order_period: int = Field(
        default=64, ge=1, description="operations of a repeated order in a weave (choice)"
    )
    # Files that are used alike.
    family_files: int = Field(
        default=100,
        ge=1,
        description="files from which on those that are used alike are a family; fewer can be read one by one (choice)",
    )
    family_files_of_rank: int = Field(
        default=8,
        ge=1,
        description="files of a family for each rank that uses it; with fewer, a file of each rank's own says more (choice)",
    )
    # Phases.
    run_operations: int = Field(
        default=4,
        ge=2,
        description="operations in a row that are a phase of their own unless a longer pattern repeats them: "
        "three equal steps are no chance (choice)",
    )
    similar_operations: int = Field(
        default=16,
        ge=1,
        description="operations from which on similar ones are a phase although they are not equal (choice)",
    )
    scraps: int = Field(
        default=4,
        ge=2,
        description="irregular pieces in a row that are joined to one phase (choice)",
    )
    pieces: int = Field(
        default=64,
        ge=1,
        description="phases into which a stretch may come apart; beyond it is one phase with listed offsets, "
        "since no reader follows more (choice)",
    )
    pattern_operations: int = Field(
        default=16, ge=1, description="operations of a pattern without runs in it (choice)"
    )
    nested_stretches: int = Field(
        default=16,
        ge=2,
        description="runs and single operations of a pattern with runs in it (choice)",
    )
    nested_operations: int = Field(
        default=64, ge=2, description="operations of a pattern with runs in it (choice)"
    )
    sampled_repetitions: int = Field(
        default=80,
        ge=2,
        description="repetitions of a folded loop that patterns are looked for in: more than any rule of phases counts, 64 (choice)",
    )
    mix_turns: int = Field(
        default=64,
        ge=1,
        description="changes from one operation to another, in no order, that make a mix; fewer are told one by one (choice)",
    )
    mix_order: int = Field(
        default=64,
        ge=1,
        description="operations from which on one operation, or a repeated pattern of several, is an order (choice)",
    )
    mix_long_order: int = Field(
        default=1024,
        ge=1,
        description="operations in an order from which on they part a mix; shorter pieces are chance in it (choice)",
    )
    mix_most_turns: int = Field(
        default=1024,
        ge=1,
        description="turns without a boundary that are a mix whatever their order: a phase table cannot bear more pieces (choice)",
    )
    mix_period: int = Field(
        default=32,
        ge=2,
        description="turns of a repeated pattern that count as an order in a mix (choice)",
    )
    metadata_phases: int = Field(
        default=256,
        ge=1,
        description="phases of calls that move no data, from which on those of the same ranks and calls are one (choice)",
    )
    # Programs.
    short_program: int = Field(
        default=512,
        ge=1,
        description="steps up to which a program is looked through loop by loop, and has no mixes (choice)",
    )
    mix_steps: int = Field(default=256, ge=1, description="steps of a mix in a program (choice)")
    mix_recurrences: int = Field(
        default=4,
        ge=1,
        description="how often each different step of a program's mix comes at least, on average (choice)",
    )
    mix_any_steps: int = Field(
        default=1024,
        ge=1,
        description="steps of a program's mix whatever its different ones (choice)",
    )
    recurring_steps: int = Field(
        default=32,
        ge=1,
        description="steps that must recur before a loop of a program is looked for (choice)",
    )
    # The timeline.
    timeline_points: int = Field(
        default=4000,
        ge=1,
        description="points of a timeline: more than a plot of 1600 pixels can tell apart (choice)",
    )
    timeline_points_of_rank: int = Field(
        default=20_000,
        ge=1,
        description="points where one rank alone has more parts than timeline_points; its phases take more room than that (choice)",
    )
    timeline_pieces: int = Field(
        default=8,
        ge=1,
        description="points of each rank's part in a phase for which ranks are left out (choice)",
    )
    part_points: int = Field(
        default=100, ge=1, description="points of one rank's part in one phase (choice)"
    )
    scattered_points: int = Field(
        default=1000,
        ge=1,
        description="the same where its operations lie in no order: each point is one place (choice)",
    )
    idle_parts: int = Field(
        default=200,
        ge=1,
        description="parts of a run's time, each three columns of a plot: shorter idle times are not kept (choice)",
    )
    idle_times: int = Field(
        default=20_000, ge=1, description="idle times that are kept: the longest ones (choice)"
    )
