/* One rank without MPI: nobody to wait for and nobody to tell. A program of one process then needs no MPI
 * library to be replayed. */
#include "ranks/ranks.h"

#include "failure.h"
#include "plan/plan.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wt_ranks_start(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
}

int wt_rank_number(void) {
    return 0;
}
int wt_rank_count(void) {
    return 1;
}
const char *wt_rank_library(void) {
    return "none";
}
char *wt_ranks_share_text(char *text) {
    return text;
}
char *wt_ranks_hand_out(int32_t rank, char *bytes, size_t length, size_t *n) {
    (void)rank;
    *n = length;
    return bytes;
}
void wt_ranks_make_communicators(const struct plan *plan) {
    (void)plan;
}
void wt_ranks_barrier(int communicator) {
    (void)communicator;
}
void wt_ranks_tick(void) {}
void wt_ranks_signal(int64_t number, const int32_t *ranks, int32_t n_ranks) {
    (void)number;
    (void)ranks;
    (void)n_ranks;
}
void wt_ranks_await(int64_t number, const int32_t *ranks, int32_t n_ranks) {
    wt_ranks_signal(number, ranks, n_ranks);
}
void wt_ranks_wait_for_all(void) {}
int64_t wt_ranks_common_start(void) {
    return wt_now_ns();
}
void wt_ranks_print_in_order(const char *text, size_t length) {
    fwrite(text, 1, length, stdout);
}
void wt_ranks_share(void *bytes, size_t length) {
    (void)bytes;
    (void)length;
}
bool wt_ranks_agree(bool mine) {
    return mine;
}
void wt_ranks_largest(int64_t *values, int32_t n) {
    (void)values;
    (void)n;
}
int64_t wt_ranks_offset_to_first(void) {
    return 0;
}
void *wt_ranks_gather(int communicator, const void *mine, size_t n, size_t size, size_t *n_all) {
    (void)communicator;
    *n_all = n;
    return n ? memcpy(wt_must_alloc(n * size), mine, n * size) : NULL;
}
void wt_ranks_send(int32_t rank, const void *elements, size_t n, size_t size) {
    (void)rank;
    (void)elements;
    (void)n;
    (void)size;
}
void *wt_ranks_receive(int32_t rank, size_t size, size_t *n) {
    (void)rank;
    (void)size;
    *n = 0;
    return NULL;
}
void wt_ranks_add_up(int64_t *values, int32_t n) {
    (void)values;
    (void)n;
}
void wt_ranks_end(void) {}
_Noreturn void wt_ranks_abort(void) {
    _Exit(1);
}
