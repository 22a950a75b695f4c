/* The plan: what src/wavetank/kernel/lowering/plan_text.py writes, in memory. docs/reference/kernel.md
 * describes the text.
 *
 * Repetitions stay folded: memory grows with the plan's lines, not with the operations. Each rank keeps its
 * own steps and its own runs of offsets only. */
#ifndef WAVETANK_REPLAY_PLAN_H
#define WAVETANK_REPLAY_PLAN_H

#include "calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_VERSION = 1 };

struct plan_name {
    char *name;   /* below the root */
    char *path;   /* with the root */
    bool symlink; /* this rank makes it as a symbolic link */
};

/* What a rank wrote to a file, and no call has brought to storage since. */
struct unflushed {
    bool waits;    /* this rank wrote, and has not flushed since */
    int64_t bytes; /* written since the last flush */
};

struct plan_member_file {
    char **names;     /* as many as the file of the plan has; below the family's folder, or below the root */
    int64_t prepared; /* bytes that are there beforehand */
};

/* Files that take turns at being one file of the plan: those that this rank visits. */
struct plan_family {
    struct plan_member_file *members; /* in the order of their first visit */
    int32_t n_members, at_hand;       /* -1: none */
    int32_t *visits;                  /* this rank's, by member */
    int64_t n_visits, next;
    char **paths;                               /* of the member at hand by its names: root, folder, name */
    size_t root_length, folder_length, longest; /* of names */
    struct unflushed *counts;                   /* by member; NULL: nothing was written */
    bool written;                               /* by some rank's phases */
};

struct plan_file {
    int32_t id;
    int32_t content;         /* number of the file whose pattern its bytes have */
    bool made_in_run;        /* by some rank: not there beforehand */
    bool never_there;        /* looked for only */
    int64_t prepared;        /* bytes that are there beforehand */
    struct plan_name *names; /* its own first; then those that it has before, after or beside it */
    int32_t n_names;
    char *name, *path;          /* of the first */
    struct plan_family *family; /* NULL: it is one file */
};

/* An MPI file view: tiles of extent bytes, each with visible runs. Also how memory lies: an item is a tile.
 */
struct plan_view {
    int64_t displacement, etype_size, extent;
    int32_t n_runs;
    int64_t *run_offsets, *run_lengths; /* bytes */
    int64_t visible;                    /* bytes of a tile: sum of run_lengths */
    int64_t reach;                      /* from a tile's start to its last visible byte's end */
};

struct plan_communicator {
    int32_t n_ranks; /* 0: all ranks */
    int32_t *ranks;
};

/* An MPI_Info: what the application asked of its MPI library. */
struct plan_info {
    int32_t n;
    char **keys, **values;
};

/* count calls of rs bytes at offset + i*disp; all move rs bytes but the last, which moves moved_last. */
struct plan_run {
    int64_t count, rs, offset, disp, moved_last;
};

struct plan_member {
    enum call call;
    bool placed;                    /* false: the place in the file is the pointer's, whatever it is */
    int64_t handle;                 /* which open of the file; -1: its latest */
    const struct plan_view *memory; /* of this rank's calls; NULL: one piece */
    int32_t n_runs;
    struct plan_run *runs; /* this rank's */
};

struct plan_phase {
    int32_t id;
    int32_t file; /* index into files */
    int32_t n_members;
    struct plan_member *members;
};

enum step_kind {
    STEP_DATA,
    STEP_FILE,
    STEP_EMPTY,
    STEP_SYNC,
    STEP_TICK, /* communication that orders nothing known */
    STEP_PAUSE,
    STEP_REPEAT,
    STEP_SIGNAL,
    STEP_AWAIT
};

/* One step of a rank's program.
 *
 * Why steps beside phases: a phase says what calls repeat and where, for its whole length; the program says
 * in which order a rank goes through phases, other calls and waits. A step of data therefore holds a phase's
 * number and a count: "the next count repetitions of its pattern". Where in the phase that is, the rank's own
 * state knows (phase_state). The other way, a list of operations, would grow with the run, and be read from
 * memory between two calls.
 *
 * Why one flat record of all kinds: steps lie in one array in the order of the text, and a repeat holds the
 * index behind its body. Going on is then the next index, leaving a repeat is one assignment, and a program
 * of a million steps is one piece of memory. A record for each kind would save bytes of a program that has
 * few steps, since repeats are folded.
 *
 * Why waits are steps: signal and await come from the lowering, which knows from the model which rank reads
 * what another wrote. The program follows them and decides nothing, so that two replays of a plan wait at the
 * same places. */
struct plan_step {
    enum step_kind kind;
    enum call call;      /* file, empty */
    int32_t phase, file; /* indices: data; file, empty */
    int32_t other;       /* file: index of the file that rename and its kin give a new name, -1 for none */
    int32_t name, other_name; /* file: which of the file's names */
    bool turns;               /* file: the call is on the next member of a family */
    int32_t info;             /* file: index, -1 for none */
    int32_t view;             /* file: index, -1 for none */
    int32_t communicator;     /* file, sync: index, -1 for none */
    int32_t error;            /* file, empty: errno of the traced call, 0 for success */
    int32_t end;              /* repeat: index of the first step after its body */
    int64_t handle;      /* which open of the file; -1: its latest (file, empty), the call's own (data) */
    int64_t arg, offset; /* file: see wt_given; offset -1 for none */
    int64_t size;        /* empty: bytes asked for by a call that moved none */
    bool single;         /* data: count is of calls, not of repetitions of the pattern */
    int64_t null_seeks;  /* data: lseek(fd, 0, SEEK_CUR) spread evenly among the calls */
    int32_t *ranks;      /* signal: that wait; await: that are waited for */
    int32_t n_ranks;
    int64_t count; /* signal, await: number of the wait; else repetitions, times, or ns of a pause */
};

struct plan {
    int32_t n_ranks, n_files, n_views, n_communicators, n_infos, n_phases, n_steps;
    struct plan_file *files;
    struct plan_view *views;
    struct plan_communicator *communicators;
    struct plan_info *infos;
    struct plan_phase *phases;
    struct plan_step *steps;
    int64_t largest_read, largest_write; /* bytes, with the gaps in memory */
    bool memory_has_gaps;                /* of some calls */
    int64_t largest_copy;                /* of one that goes inside of the kernel */
};

/* Read the plan's text (rank 0's file). */
char *wt_plan_read_text(const char *path);

/* Of rank 0's text, NULL on other ranks: what concerns this rank. */
char *wt_plan_share(char *text);

/* Parse; keep what this rank needs. text is changed. wt_fail() names the line of a damaged plan. */
struct plan *wt_plan_parse(char *text, const char *root, int rank);

bool wt_plan_communicator_has(const struct plan_communicator *communicator, int rank);

#endif
