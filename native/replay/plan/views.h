/* Where positions of an MPI file view are in the file. A view may be NULL: then they are the same. */
#ifndef WAVETANK_REPLAY_VIEWS_H
#define WAVETANK_REPLAY_VIEWS_H

#include "plan/plan.h"
#include "plan/ranges.h"

/* The offset in the file of a position, and for how many bytes the file goes on from there as the view does.
 */
int64_t wt_piece_in_file(const struct plan_view *view, int64_t position, int64_t *length);

/* Behind the highest byte of an operation: a tile may reach over those behind it. */
int64_t wt_end_in_file(const struct plan_view *view, int64_t position, int64_t size);

/* The position of which the offset in the file is given, the first one where tiles lie over each other; the
 * offset itself where the view does not show it. */
int64_t wt_position_in_view(const struct plan_view *view, int64_t offset);

/* The parts of the file that operations move: each is band.length bytes long in the view. */
void wt_bands_in_file(const struct plan_view *view, struct band operations,
                      void (*tell)(void *to, struct band band), void *to);

/* How many bytes of memory an operation takes of which size bytes are moved; -1: more than can be. */
int64_t wt_memory_span(const struct plan_view *memory, int64_t size);

/* Bytes that lie in sequence, put where memory has room between its gaps; and back. */
void wt_memory_put(const struct plan_view *memory, char *with_gaps, const char *bytes, int64_t size);
void wt_memory_take(const struct plan_view *memory, char *bytes, const char *with_gaps, int64_t size);

#endif
