/* The ranks of a replay: by MPI (ranks_mpi.c), or one alone (ranks_serial.c). */
#ifndef WAVETANK_REPLAY_RANKS_H
#define WAVETANK_REPLAY_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

void wt_ranks_start(int *argc, char ***argv);
int wt_rank_number(void);
int wt_rank_count(void);
const char *wt_rank_library(void); /* for the result: the MPI library's version, or "none" */

/* Text of rank 0 (malloc'ed, NUL-terminated) to all ranks. */
char *wt_ranks_share_text(char *text);

/* Bytes of rank 0 (malloc'ed, or NULL) to one rank, which gets them; all others, and who has none, get NULL.
 */
char *wt_ranks_hand_out(int32_t rank, char *bytes, size_t length, size_t *n);

/* Make the plan's communicators; before the clock starts. */
void wt_ranks_make_communicators(const struct plan *plan);
void wt_ranks_barrier(int communicator);

/* A call that counts as communication to a tracer, and orders nothing. */
void wt_ranks_tick(void);

/* After the run: wait until all ranks have ended theirs. */
void wt_ranks_wait_for_all(void);

/* Tell other ranks that something is done, and wait until others have. */
void wt_ranks_signal(int64_t number, const int32_t *ranks, int32_t n_ranks);
void wt_ranks_await(int64_t number, const int32_t *ranks, int32_t n_ranks);

/* Wait for all ranks and return the replay's common start on this rank's clock, ns. */
int64_t wt_ranks_common_start(void);

/* Let each rank print in turn, by rank: text goes to rank 0's standard output. Text may be NULL on no rank.
 */
void wt_ranks_print_in_order(const char *text, size_t length);

/* Of sessions (session.c): what rank 0 says, to all ranks, waiting without using a core; whether any rank
 * says so; rank 0's clock minus this one's, ns. */
void wt_ranks_share(void *bytes, size_t length);
bool wt_ranks_agree(bool mine);

/* The largest value of all ranks, number by number; on rank 0. */
void wt_ranks_largest(int64_t *values, int32_t n);

int64_t wt_ranks_offset_to_first(void);

/* Of verification (verify_state.c). All ranks' elements of a communicator of the plan, -1: of all ranks;
 * malloc'ed, NULL where this rank is none of them. */
void *wt_ranks_gather(int communicator, const void *mine, size_t n, size_t size, size_t *n_all);
/* Elements from rank to rank, in order; sending does not wait. */
void wt_ranks_send(int32_t rank, const void *elements, size_t n, size_t size);
void *wt_ranks_receive(int32_t rank, size_t size, size_t *n);
void wt_ranks_add_up(int64_t *values, int32_t n); /* over all ranks, on each */

void wt_ranks_end(void);
_Noreturn void wt_ranks_abort(void);

#endif
