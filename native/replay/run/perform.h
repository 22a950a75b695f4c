/* Performing this rank's steps of a plan, and what was measured. */
#ifndef WAVETANK_REPLAY_PERFORM_H
#define WAVETANK_REPLAY_PERFORM_H

#include "backends/backend.h"
#include "plan/pattern.h"
#include "rank_status.h"
#include "run/activity.h"
#include "run/progress.h"
#include "timing.h"
#include "verify/verify_state.h"

enum pauses { PAUSES_DROP, PAUSES_KEEP };
enum flush { FLUSH_NONE, FLUSH_PHASE, FLUSH_END };

struct settings {
    const char *plan, *root;
    enum pauses pauses;
    double pause_factor, longest_pause_ns;
    enum flush flush;
    bool verify, direct, null, session;
};

/* Where a rank is in one call of a phase's pattern. */
struct member_state {
    const struct plan_member *member;
    data_call issue;
    int32_t run; /* index of the current run */
    int64_t i;   /* operations of it done */
    struct open_file *file;
};

struct phase_state {
    const struct plan_phase *phase;
    struct member_state *members; /* NULL until the rank gets here */
    bool collective;
    int32_t next; /* the pattern's call that comes next */
    int64_t bytes, operations, io_ns, first_ns, last_ns;
    struct latencies latencies;
};

/* A repeat that is being performed. */
struct loop {
    int32_t first, end; /* steps: of its body */
    int64_t left;       /* repetitions after this one */
    const struct loop *around;
};

struct replay {
    const struct settings *settings;
    const struct plan *plan;
    struct phase_state *phases;
    struct open_file **open_files;
    int32_t n_open_files;
    struct unflushed *unflushed; /* by file index */
    int64_t synchronous_bytes;   /* written where each write waits for storage */
    char *read_buffer, *fill_buffer;
    char *packed_buffer; /* verified: between memory with gaps and without */
    struct pattern pattern;
    struct spare_buffer { /* of calls that are completed later */
        char *bytes;
        int64_t size;
        bool used;
    } * buffers;
    int32_t n_buffers;
    struct phase_state *copy_phase; /* of the read side of a copy that has begun */
    const struct loop *loop;        /* the innermost one; NULL outside of repeats */
    struct pacer pacer;
    int64_t start_ns, end_ns;
    struct activity activity;
    int64_t metadata_ns, metadata_operations, sync_ns, syncs, final_flush_ns;
    int64_t extra_seeks;      /* that the plan does not hold: the pointer was elsewhere */
    int64_t waited_opens;     /* that found no file at first, made by another rank later */
    int64_t opens_again;      /* that the file system answered by "File exists", and may not */
    int64_t waited_reads;     /* that came before another rank's write of the bytes */
    int64_t long_reads;       /* that moved more than in the traced run: the file is larger */
    int64_t other_results;    /* calls that failed, or did not, unlike those of the traced run */
    struct compared compared; /* by --verify */
    /* of a session's runs (session.c) */
    struct progress *progress; /* NULL outside of sessions */
    bool independent;          /* no rank waits for another */
    bool stopped;              /* the run's time is over: leave the plan */
    int64_t stop_at_ns;        /* when to stop in the middle of the plan; INT64_MAX: never */
    int64_t begun_ns;          /* when this rank began */
};

void wt_replay_prepare(struct replay *r, const struct settings *settings, const struct plan *plan);
void wt_replay_perform(struct replay *r, int64_t start_ns);
void wt_replay_end(struct replay *r);

/* Wait until all ranks have performed their steps. */
void wt_replay_wait_for_all(void);

/* For a further run: forget what was measured, and where in its phases the rank was. */
void wt_replay_renew(struct replay *r);

/* Perform the plan again and again, until for_ns are over since start_ns (negative: no limit) or loops are
 * done (0: no limit). Independent ranks stop at the end of an operation, others together at the end of a
 * loop. */
void wt_replay_loop(struct replay *r, int64_t start_ns, int64_t for_ns, int64_t loops);

#endif
