/* Passes over columns of operations that the phase extraction makes. Called by
 * src/wavetank/model/native/survey.py through ctypes, which owns all memory; what a pass finds is judged
 * there. Rows are numbered from 0; nothing is kept between calls. */
#ifndef WT_MODEL_H
#define WT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_EXPORT __attribute__((visibility("default")))
#define WT_UNKNOWN (-1)

/* Columns of a chunk, as in FoldTable in src/wavetank/trace/schema.py. */
struct wt_table {
    int64_t n;
    const uint8_t *op;
    const int32_t *rank;
    const int32_t *file;
    const int32_t *handle;
    const int32_t *view;
    const int32_t *error;
    const int32_t *given; /* what the call was given else: which set, 0 for nothing */
    const int64_t *count;
    const int64_t *size;
    const int64_t *moved;
    const int64_t *offset;
    const int64_t *view_offset;
    const int64_t *tick;
    const int64_t *subtick;
    const int64_t *loop;
    const int64_t *start_ns;
    const int64_t *end_ns;
    const int64_t *busy_ns;
};

/* By operation code; 256 each. */
struct wt_kinds {
    const uint8_t *separating;  /* communication separates such operations */
    const uint8_t *calls;       /* a tick itself: an MPI-IO call */
    const uint8_t *interleaved; /* may be interleaved */
    const uint8_t *seeks;
};

/* --- survey.c: what each operation is, and what it has in common with the next one --- */

enum {
    WT_JOINABLE =
        1,         /* with the next one in a row or a block: whole single ones of a rank, no pause between */
    WT_LINKED = 2, /* joinable, and the same but for places and times */
    WT_TALKS = 4,  /* communication lies between it and the next one */
    WT_INTERLEAVABLE = 8,
    WT_SEPARATED =
        16, /* interleavable or not, rank, or communication: no interleaving holds it and the next one */
};

struct wt_survey {
    uint8_t *flags; /* n */
    uint32_t
        *code; /* n: number of what operations have in common but sizes, places, times; from 0 as they come */
    uint64_t *signature; /* n: a hash of the code and the size */
    uint32_t *slots;     /* n_slots, 0 before and after */
    int64_t n_slots;     /* a power of 2, more than n */
    int64_t *first;      /* n: of each code, its first row */
    int64_t *begin;      /* n / 2: first and last rows of the runs at regular distance, */
    int64_t *end;
    int64_t n_codes;
    int64_t n_runs;
    int64_t n_barriers; /* rows not joinable with the next one, and talks, in flags */
    int64_t n_talks;
    int64_t n_linked;
    int64_t n_separating; /* operations that communication separates */
};

/* Runs have at least `least` equal steps. gap_ns: shortest pause that separates, if has_gap. apart: by row
 * whether the next one of the run is missing; NULL: none is. */
WT_EXPORT void wt_survey(const struct wt_table *table, const struct wt_kinds *kinds, const uint8_t *apart,
                         bool has_gap, int64_t gap_ns, int64_t least, struct wt_survey *out);

/* --- blocks.c: loops and irregular stretches of a chunk --- */

/* How many rows from `position` on have the signature of the one `period` behind them, which is below high.
 */
WT_EXPORT int64_t wt_matched(const uint64_t *signature, int64_t position, int64_t high, int64_t period);

struct wt_loop {
    /* in */
    int64_t low; /* rows [low, high): whole repetitions, two at least */
    int64_t high;
    int64_t period;
    int64_t shortest; /* repetitions of a part */
    bool in_view;     /* whether places in the view are looked at, too */
    uint8_t *bent;    /* for each repetition; filled */
    /* out */
    uint8_t *irregular; /* by member, whether its distance changes anywhere */
    int64_t n_parts;    /* repetitions at equal distances: first and behind the last; */
    int64_t *first;     /* as many as repetitions / shortest + 1 */
    int64_t *stop;
};
/* Whether all repetitions are of the codes and sizes of the first; and where their distances stay. */
WT_EXPORT bool wt_loop(const struct wt_table *table, const uint32_t *code, struct wt_loop *loop);

/* Of each member of each part of a loop, the sum of a column. bounds: first row of each part and the one
 * behind its last one, 2 * n_parts; sums: n_parts * period. */
WT_EXPORT void wt_part_sums(const int64_t *column, const int64_t *bounds, int64_t n_parts, int64_t period,
                            int64_t *sums);

struct wt_stretch {
    int64_t asked; /* bytes */
    int64_t busy_ns;
    bool unknown; /* whether an offset is not known, */
    bool empty;   /* a size is 0, */
    bool differs; /* sizes differ */
};
WT_EXPORT void wt_stretch(const struct wt_table *table, int64_t low, int64_t high, struct wt_stretch *out);

/* Bounds of parts of `regular` operations or more whose sizes are similar throughout (equal, if exact), of
 * what lies between them, and of all. Returns how many; at most n + 1. */
WT_EXPORT int64_t wt_parts_by_size(const int64_t *size, int64_t n, bool exact, double low, double high,
                                   int64_t regular, int64_t *bounds);

/* --- substreams.c: operations of several kinds that take turns --- */

struct wt_regions {
    int64_t n;
    const int64_t *low;
    const int64_t *high;
};

/* Numbers pairs of region and code, as they come; a seek that does not lead to where the next operation of
 * its owner begins has a number of its own. ids: one for each operation of the regions, in order. known: 2 *
 * n_codes, 0 before and after. Pairs: at most twice the operations. Returns how many. */
WT_EXPORT int64_t wt_number_pairs(const struct wt_table *table, const struct wt_kinds *kinds,
                                  const uint32_t *code, const uint32_t *owner, int64_t n_owners,
                                  int64_t *pending, const struct wt_regions *regions, uint32_t *known,
                                  int64_t n_codes, uint32_t *ids, int64_t *pair);

/* What is an order that repeats itself, in operations. */
struct wt_limits {
    int64_t turns;  /* fewer are none */
    int64_t order;  /* what goes on for so long is one; a pattern for half of it at least */
    int64_t head;   /* that recur first */
    int64_t probe;  /* between places that are looked at */
    int64_t period; /* the longest */
};

/* Whether the operations of each stream take turns often, and repeat no pattern for long. scratch: n.
 * start: n_streams + 1, filled with where each stream begins in scratch. */
WT_EXPORT void wt_irregular(const uint32_t *ids, int64_t n, const uint32_t *stream_of, int64_t n_streams,
                            int64_t *start, uint32_t *scratch, const struct wt_limits *limits,
                            uint8_t *irregular);

struct wt_substreams {
    /* in */
    const uint32_t *ids; /* of the operations of the regions, in order */
    const uint32_t *substream_of;
    const uint8_t *singles; /* by substream: each operation is a row */
    int64_t n_substreams;
    int64_t regular; /* operations of a run that is a row of its own */
    int64_t listed;  /* operations of a row without regularity */
    double low;      /* ratios of similar sizes */
    double high;
    /* out */
    uint32_t *substream; /* by operation */
    int64_t *starts;     /* n_substreams + 1 */
    uint32_t *at;        /* rows of the chunk, substream by substream; offsets and sizes likewise */
    int64_t *offset;
    int64_t *size;
    uint8_t *marks;
    int64_t *first; /* of the rows that are made: their first operations' places in `at`, */
    int64_t *length;
    int64_t *moved;
    int64_t *busy;
    uint8_t *kind;   /* 0 single, 1 run, 2 list of one size, 3 list of several sizes */
    int64_t *head;   /* rows of the chunk: of their first operations, */
    int64_t *second; /* the ones behind these, or the same where there is none, */
    int64_t *last;   /* and the last ones */
};

/* Returns the rows. */
WT_EXPORT int64_t wt_lay_substreams(const struct wt_table *table, const struct wt_regions *regions,
                                    struct wt_substreams *out);

/* --- continue_interleaving.c: chunks that go on with an interleaving --- */

enum { WT_MOST_SUBSTREAMS = 256 };
enum { WT_DATA, WT_SEEK, WT_STRAY }; /* roles of substreams; stray seeks do not lead to the next operation */
enum { WT_NOT_ON = -1 };

struct wt_unfinished {
    /* in, by substream: what its operations have in common */
    int64_t n_substreams;
    const uint8_t *op;
    const int32_t *file;
    const int32_t *handle;
    const int32_t *given;
    const uint8_t *role;
    const int32_t *owner;    /* of seeks and what they lead to, from 0 */
    const int32_t *stray_of; /* of seeks: the substream of their stray ones, -1 for none */
    const int32_t *stream;   /* of a file with several substreams: its number from 0, otherwise -1 */
    const int64_t *least;    /* bytes that each operation moves */
    int64_t n_owners;        /* 0: nothing seeks */
    int64_t n_streams;
    /* in: the operation before the chunk */
    int64_t rank;
    int64_t tick;
    bool calls; /* they are ticks */
    bool parts; /* communication separates them */
    /* in: what is no order; and how often the substream changes at least */
    struct wt_limits limits;
    double often;
    /* out: the substream of each operation; n bytes more to work with */
    uint8_t *order;
    uint8_t *scratch;
    struct wt_substreams substreams; /* without ids, substream_of and substream */
    /* by substream: where its lists of offsets and of sizes go on, and the place of that; NULL: what is laid
     * stays in substreams.offset and substreams.size, otherwise these have room for stray ones */
    int64_t *const *offset_to;
    int64_t *const *size_to;
    int64_t *offset_at; /* changed to what is behind the lists then */
    int64_t *size_at;
    int64_t *listed; /* of the rows: where their lists are, -1 for none */
    int64_t *sized;
};

/* Returns the rows that are made of a chunk, or WT_NOT_ON: something in it may be of another kind. */
WT_EXPORT int64_t wt_continue_interleaving(const struct wt_table *table, struct wt_unfinished *unfinished);

/* Copies stretches of numbers, each to its place. */
WT_EXPORT void wt_scatter(const int64_t *const *from, const int64_t *length, int64_t n, int64_t *const *to);
/* Copies stretches of numbers, in sequence. */
WT_EXPORT void wt_gather(const int64_t *const *from, const int64_t *length, int64_t n, int64_t *to);
/* Sums of stretches. */
WT_EXPORT void wt_sums(const int64_t *const *from, const int64_t *length, int64_t n, int64_t *sums);

/* --- order.c: orders of any length, looked at once --- */

/* Steps of a program: neighbours of one symbol joined. Numbers of an order are 1, 2, 4 or 8 bytes wide. */
enum { WT_FEW = 32 };
enum { WT_NO_ROOM = -1, WT_TOO_NARROW = -2 };

struct wt_steps {
    const uint32_t *symbol_of; /* by number of the order; symbol 0 is left out */
    int64_t n_symbols;         /* symbols are below it */
    int64_t base;              /* the first number that is given */
    void *steps;               /* a number for each step, in order */
    int width;                 /* of it: 1, 2 or 4 */
    int32_t *few;              /* WT_FEW * n_symbols, 0 before */
    uint64_t *slots;           /* n_slots (a power of 2), 0 before */
    int32_t *number;
    int64_t n_slots;
    int64_t *symbol; /* of the different steps, by number; n_slots / 2 */
    int64_t *times;
    int64_t n_different; /* out */
};

/* all: no symbol is 0. Returns the steps; WT_NO_ROOM where there are more different ones than n_slots / 2,
 * WT_TOO_NARROW where their numbers are too large for the width. */
WT_EXPORT int64_t wt_join_steps(const void *order, int64_t n, int width, bool all, struct wt_steps *steps);

/* The symbol of each operation of an order whose substreams have several, one after another: those of a
 * substream begin at run[substream], each is that of length[...] operations of it. left: those of the first
 * one. run and left are changed. Returns n. */
WT_EXPORT int64_t wt_lay_symbols(const void *order, int64_t n, int width, const uint32_t *symbol,
                                 const int64_t *length, int64_t *run, int64_t *left, void *to, int to_width);

/* Where in [low, high) the n numbers from `at` on come first, all of them; -1: nowhere. */
WT_EXPORT int64_t wt_find(const void *numbers, int64_t low, int64_t high, int width, int64_t at, int64_t n);

/* Numbers by a table of others; returns how many. */
WT_EXPORT int64_t wt_translate(const void *numbers, int64_t n, int width, const uint32_t *to, void *result,
                               int result_width);
/* Adds how often each number comes; all are below n_counts. */
WT_EXPORT void wt_tally(const void *numbers, int64_t n, int width, int64_t *counts, int64_t n_counts);
/* The different numbers in the order in which they first come; seen: 0 before. Returns how many. */
WT_EXPORT int64_t wt_first_come(const void *numbers, int64_t n, int width, uint8_t *seen, int64_t n_different,
                                int64_t *different);

/* --- steps.c: lists, and turns that they take --- */

/* Operations behind the first that begin at or behind the end of the one before, and right behind it. With
 * one size if `sizes` is NULL. counts: both are added. */
WT_EXPORT void wt_sequential(const int64_t *offset, const int64_t *sizes, int64_t size, int64_t n,
                             int64_t *counts);

/* The same for lists that take turns: order names the list of each of n operations, -1 for none. Of list k
 * operations are offset[k][...], of sizes[k][...] or, where that is NULL, of size[k] bytes. moved_last[k]:
 * what its last one moved. direction[k]: lists of one number follow on each other; ends: what was the end of
 * each before, then behind. counts: 2 for each list. */
struct wt_turns {
    const int32_t *list_of; /* by substream: a list, -1 for none */
    const int64_t *const *offset;
    const int64_t *const *sizes;
    const int64_t *size;
    const int64_t *direction;
    int64_t *next; /* 0 for each list before */
    int64_t *ends;
    int64_t *counts;
};
WT_EXPORT void wt_sequential_turns(const void *order, int64_t n, int width, struct wt_turns *turns);

/* How far operations reach: the largest offset + size. */
WT_EXPORT int64_t wt_highest(const int64_t *offset, const int64_t *sizes, int64_t size, int64_t n);

#endif
