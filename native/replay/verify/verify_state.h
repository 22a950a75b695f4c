/* What is known of the bytes in the plan's files, for --verify. A byte that was prepared, or written before
 * by this rank or by one that it has met since, must be the pattern; one that no rank has written must be
 * zero. A byte that another rank writes at a moment that nothing orders may be either. */
#ifndef WAVETANK_REPLAY_VERIFY_STATE_H
#define WAVETANK_REPLAY_VERIFY_STATE_H

#include "backends/backend.h"
#include "plan/pattern.h"

/* Of what was read, how much was compared with what. */
struct compared {
    int64_t pattern;   /* written before */
    int64_t zeros;     /* written by nobody */
    int64_t either;    /* in no known order with another rank's write: the pattern or zero */
    int64_t unchecked; /* nothing is known of them */
};

/* Before the run, with all ranks; what follows does nothing without it. */
void wt_verify_start(const struct plan *plan, bool in_session);

/* This rank wrote n operations of size bytes, disp apart, the last of them of last bytes; positions are in
 * the view where there is one. key: of what goes on with the next call, NULL for none. */
void wt_verify_wrote(const struct open_file *f, const void *key, int64_t position, int64_t size, int64_t disp,
                     int64_t n, int64_t last);

/* This rank has made a call that moves no data. */
void wt_verify_acted(const struct file_action *action);

/* A file stands for another member of its family from now on. */
void wt_verify_turned(int32_t file);

/* Ranks of a communicator have met, or one is told by another: what the one knows, the other knows. */
void wt_verify_meet(int32_t communicator);
void wt_verify_tell(const int32_t *ranks, int32_t n_ranks);
void wt_verify_listen(const int32_t *ranks, int32_t n_ranks);

enum wrong { WRONG_NONE, WRONG_PATTERN, WRONG_ZERO, WRONG_EITHER };

/* Compare what was read; *where: the first wrong byte's offset in the file, and *found what it was. */
enum wrong wt_verify_compare(const struct pattern *pattern, const struct open_file *f, const char *buffer,
                             int64_t position, int64_t size, struct compared *compared, int64_t *where,
                             unsigned char *found);

#endif
