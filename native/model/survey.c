/* What each operation of a chunk is, and what it has in common with the next one: one pass over the columns.
 * Folding a chunk by numpy took some forty passes, each with a new array, whose pages took a third of the
 * time. */
#include "survey.h"

enum { NOTHING = 0 }; /* given to a seek but its place: SEEK_SET */

static bool same_code(const struct wt_table *t, int64_t a, int64_t b) {
    return t->op[a] == t->op[b] && t->file[a] == t->file[b] && t->handle[a] == t->handle[b] &&
           t->view[a] == t->view[b] && t->error[a] == t->error[b] && t->given[a] == t->given[b];
}

static uint32_t number_of(const struct wt_table *t, int64_t row, struct wt_survey *out) {
    uint64_t hash = wt_mixed((uint64_t)(uint32_t)t->given[row] ^ ((uint64_t)(uint32_t)t->handle[row] << 32));
    hash = wt_mixed(hash ^ (uint64_t)(uint32_t)t->file[row] ^ ((uint64_t)t->op[row] << 32));
    hash = wt_mixed(hash ^ (uint64_t)(uint32_t)t->view[row] ^ ((uint64_t)(uint32_t)t->error[row] << 32));
    uint64_t mask = (uint64_t)out->n_slots - 1;
    for (uint64_t slot = (hash >> 20) & mask;; slot = (slot + 1) & mask) {
        uint32_t found = out->slots[slot];
        if (!found) {
            out->first[out->n_codes] = row;
            out->slots[slot] = (uint32_t)++out->n_codes;
            return (uint32_t)out->n_codes - 1;
        }
        if (same_code(t, out->first[found - 1], row)) {
            return found - 1;
        }
    }
}

/* Codes that were seen lately, by a short hash. */
enum { LATE = 512 };

struct late {
    int32_t file, handle, view, error, given;
    uint32_t op, code;
};

static uint32_t late_number_of(const struct wt_table *t, int64_t row, struct late *late,
                               struct wt_survey *out) {
    uint32_t hash =
        ((uint32_t)t->file[row] * 31u + t->op[row]) * 0x9E3779B1u ^ (uint32_t)t->handle[row] * 0x85EBCA6Bu;
    struct late *one = &late[hash >> 23];
    if (one->file == t->file[row] && one->op == t->op[row] && one->handle == t->handle[row] &&
        one->given == t->given[row] && one->view == t->view[row] && one->error == t->error[row]) {
        return one->code;
    }
    *one = (struct late){t->file[row],  t->handle[row], t->view[row],          t->error[row],
                         t->given[row], t->op[row],     number_of(t, row, out)};
    return one->code;
}

static void clear(const struct wt_table *t, struct wt_survey *out) {
    if (out->n_codes > out->n_slots / 8) {
        for (int64_t slot = 0; slot < out->n_slots; slot++) {
            out->slots[slot] = 0;
        }
        return;
    }
    for (int64_t code = 0; code < out->n_codes; code++) {
        int64_t row = out->first[code];
        uint64_t hash =
            wt_mixed((uint64_t)(uint32_t)t->given[row] ^ ((uint64_t)(uint32_t)t->handle[row] << 32));
        hash = wt_mixed(hash ^ (uint64_t)(uint32_t)t->file[row] ^ ((uint64_t)t->op[row] << 32));
        hash = wt_mixed(hash ^ (uint64_t)(uint32_t)t->view[row] ^ ((uint64_t)(uint32_t)t->error[row] << 32));
        uint64_t mask = (uint64_t)out->n_slots - 1;
        for (uint64_t slot = (hash >> 20) & mask; out->slots[slot]; slot = (slot + 1) & mask) {
            out->slots[slot] = 0;
        }
    }
}

/* Column by column, some rows at a time: more columns at once than a cache has ways for one place would
 * displace each other, as arrays of one length often lie alike. What is 0 is the same in a row and the next
 * one. */
enum { ROWS = 256, MOST_PAUSE = 16 * ROWS };

struct block {
    uint32_t narrow[ROWS];     /* what operations of one code have in common, */
    uint64_t sizes[ROWS];      /* and the size */
    uint64_t single[ROWS + 1]; /* 0: one operation in no loop */
    uint64_t part[ROWS];       /* moved less than asked for; of another rank than the next one */
    uint64_t steps[ROWS]; /* of all that is regular, from the row before to this one and from this one to the
                             next */
    int64_t ticks[ROWS];
    uint32_t plain[ROWS + 1]; /* 0: no view, no error */
    int64_t known[ROWS + 1];  /* below 0: no offset, or nothing moved */
};

static void differ32(uint32_t *restrict to, const int32_t *restrict column, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        to[i] |= (uint32_t)(column[i] ^ column[i + 1]);
    }
}

static void bend(uint64_t *restrict to, const int64_t *restrict column, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        to[i] |=
            ((uint64_t)column[i + 1] - (uint64_t)column[i]) ^ ((uint64_t)column[i] - (uint64_t)column[i - 1]);
    }
}

/* Rows [low, low + n), with the one behind them where there is one: n is one less than the rows looked at. */
static void look(const struct wt_table *t, int64_t low, int64_t n, struct block *b) {
    int64_t all = low + n < t->n ? n + 1 : n;
    for (int64_t i = 0; i < all; i++) {
        b->single[i] = ((uint64_t)t->count[low + i] ^ 1) | (uint64_t)t->loop[low + i];
    }
    for (int64_t i = 0; i < all; i++) {
        b->plain[i] = (uint32_t)~t->view[low + i] | (uint32_t)t->error[low + i];
    }
    for (int64_t i = 0; i < all; i++) {
        b->known[i] = t->offset[low + i] | (t->moved[low + i] - 1);
    }
    int64_t steps = all - 1;
    const uint8_t *op = t->op + low;
    for (int64_t i = 0; i < steps; i++) {
        b->narrow[i] = op[i] ^ op[i + 1];
    }
    differ32(b->narrow, t->file + low, steps);
    differ32(b->narrow, t->handle + low, steps);
    differ32(b->narrow, t->view + low, steps);
    differ32(b->narrow, t->error + low, steps);
    differ32(b->narrow, t->given + low, steps);
    for (int64_t i = 0; i < steps; i++) {
        b->sizes[i] = (uint64_t)(t->size[low + i] ^ t->size[low + i + 1]);
    }
    for (int64_t i = 0; i < steps; i++) {
        b->part[i] = (uint64_t)(t->moved[low + i] ^ t->size[low + i]) |
                     (uint32_t)(t->rank[low + i] ^ t->rank[low + i + 1]);
    }
    for (int64_t i = 0; i < steps; i++) {
        b->ticks[i] = t->tick[low + i + 1] - t->tick[low + i];
    }
    int64_t from = low == 0 ? 1 : 0; /* row 0 has none before it */
    for (int64_t i = 0; i < steps; i++) {
        b->steps[i] = 0;
    }
    bend(b->steps + from, t->offset + low + from, steps - from);
    bend(b->steps + from, t->tick + low + from, steps - from);
    bend(b->steps + from, t->subtick + low + from, steps - from);
    if (t->view_offset != t->offset) {
        for (int64_t i = from; i < steps; i++) {
            if (t->view[low + i] >= 0) {
                bend(b->steps + i, t->view_offset + low + i, 1);
            }
        }
    }
}

/* Communication that a rank has made: its ticks that were no calls of MPI-IO. Of a call and of an operation
 * that one is made of the numbers differ, as the call has begun and is a tick itself: each kind of operation
 * is compared with its own kind. Numbers begin anywhere. */
struct talk {
    int64_t calls;   /* before the operation that was met last */
    int64_t said[2]; /* communication before the last operation that is no call, and before the last call */
    bool known[2];
};

static void forget(struct talk *talk) {
    talk->known[0] = talk->known[1] = false;
}

/* Whether communication lies between an operation and the next one, `ticks` later. */
WT_INLINE bool talks_before(struct talk *talk, int64_t tick, int64_t ticks, bool call, bool next_call) {
    talk->calls += call;
    int64_t said = tick - talk->calls, more = said - talk->said[next_call];
    bool talks = talk->known[next_call] ? more != 0 : ticks > call;
    if (talks && talk->known[next_call] && ticks > call) {
        talk->said[!next_call] += more; /* it lies before the next operation of the other kind, too */
    }
    talk->said[next_call] = said;
    talk->known[next_call] = true;
    return talks;
}

/* Meets rows (low, high], which are like those `period` rows before them; row low is met. */
static void pass_talk(const struct wt_table *t, const struct wt_kinds *kinds, int64_t low, int64_t high,
                      int64_t period, struct talk *talk) {
    int64_t turns = (high - low) / period;
    for (int64_t i = 0; i < period; i++) {
        talk->calls += (turns + (i < (high - low) % period)) * kinds->calls[t->op[low + i]];
    }
    bool met[2] = {false, false};
    int64_t calls = talk->calls;
    for (int64_t i = high; i > high - period; i--) {
        bool call = kinds->calls[t->op[i]];
        if (i < high) {
            calls -= call;
        }
        if (!met[call]) {
            talk->said[call] = t->tick[i] - calls;
        }
        met[call] = talk->known[call] = true;
    }
}

static bool interleavable(const struct wt_table *t, const struct wt_kinds *kinds, int64_t row,
                          const struct block *b, int64_t i) {
    uint8_t op = t->op[row];
    if (!kinds->interleaved[op] || b->plain[i] || b->single[i]) {
        return false;
    }
    return b->known[i] >= 0 ||
           (kinds->seeks[op] && t->offset[row] >= 0 && (t->moved[row] > 0 || t->given[row] == NOTHING));
}

void wt_survey(const struct wt_table *table, const struct wt_kinds *of_ops, const uint8_t *apart,
               bool has_gap, int64_t gap_ns, int64_t least, struct wt_survey *out) {
    /* Copies: what is written as bytes could be anything else to the compiler. */
    const struct wt_table copied = *table, *t = &copied;
    const struct wt_kinds same_kinds = *of_ops, *kinds = &same_kinds;
    uint8_t *restrict flags = out->flags;
    uint32_t *restrict codes = out->code;
    uint64_t *restrict signature = out->signature;
    struct wt_run run = {-1, least};
    const struct wt_separating separating = {apart, has_gap, gap_ns};
    struct block b;
    struct late late[LATE];
    for (int k = 0; k < LATE; k++) {
        late[k].op = 256; /* none */
    }
    int64_t n = t->n, n_barriers = 0, n_talks = 0, n_linked = 0, n_separating = 0;
    out->n_codes = out->n_runs = out->n_barriers = out->n_talks = out->n_linked = out->n_separating = 0;
    if (!n) {
        return;
    }
    uint32_t code = number_of(t, 0, out);
    struct talk talk = {0};
    talk.said[kinds->calls[t->op[0]]] = t->tick[0];
    talk.known[kinds->calls[t->op[0]]] = true;
    int64_t period = 0, next_try = 0, pause = ROWS;
    for (int64_t low = 0, rows; low < n; low += rows) {
        if (!period && low >= next_try) {
            period = wt_code_period(codes, low);
        }
        rows = n - 1 - low < WT_STEADY_ROWS ? n - 1 - low : WT_STEADY_ROWS;
        if (period && rows > WT_MOST_PERIOD &&
            wt_survey_steady(t, kinds, &separating, low, low + rows, period, &run, out)) {
            code = codes[low + rows];
            pass_talk(t, kinds, low, low + rows, period, &talk);
            pause = ROWS;
            continue;
        }
        if (period) { /* try again later, and later still */
            period = 0;
            next_try = low + pause;
            pause = pause < MOST_PAUSE ? 2 * pause : pause;
        }
        rows = n - low < ROWS ? n - low : ROWS;
        look(t, low, rows, &b);
        bool can = interleavable(t, kinds, low, &b, 0);
        for (int64_t k = 0; k < rows; k++) {
            int64_t i = low + k;
            uint8_t op = t->op[i];
            codes[i] = code;
            signature[i] = wt_signature(code, t->size[i]);
            n_separating += kinds->separating[op];
            if (i + 1 == n) {
                flags[i] = can ? WT_INTERLEAVABLE : 0;
                break;
            }
            uint8_t next_op = t->op[i + 1];
            bool same = !b.narrow[k];
            if (!same) {
                code = late_number_of(t, i + 1, late, out);
            }
            bool next_can = interleavable(t, kinds, i + 1, &b, k + 1);
            bool one_rank = !(uint32_t)(t->rank[i] ^ t->rank[i + 1]);
            int64_t ticks = b.ticks[k];
            bool call = kinds->calls[op], next_call = kinds->calls[next_op];
            if (!one_rank | (b.single[k] != 0)) {
                forget(&talk);
            }
            bool talks = talks_before(&talk, t->tick[i + 1], ticks, call, next_call);
            bool joinable = !(b.single[k] | b.single[k + 1] | b.part[k]);
            if (apart) {
                joinable &= !apart[i];
            }
            if (has_gap) {
                joinable &= t->start_ns[i + 1] - t->end_ns[i] < gap_ns;
            }
            bool linked = joinable & same & !b.sizes[k];
            bool separated = (can != next_can) | !one_rank | (call != next_call) |
                             (next_call ? ticks != 1 : (ticks > 0) & (kinds->separating[next_op] != 0));
            flags[i] = (uint8_t)(joinable * WT_JOINABLE | linked * WT_LINKED | talks * WT_TALKS |
                                 can * WT_INTERLEAVABLE | separated * WT_SEPARATED);
            n_barriers += !joinable;
            n_talks += talks;
            n_linked += linked;
            if (!linked | (run.first < 0) | (b.steps[k] != 0)) {
                if (run.first >= 0 && i - run.first >= least) {
                    wt_close_run(out, run.first, i);
                }
                run.first = linked ? i : -1;
            }
            can = next_can;
        }
    }
    if (run.first >= 0 && n - 1 - run.first >= least) {
        wt_close_run(out, run.first, n - 1);
    }
    out->n_barriers += n_barriers;
    out->n_talks += n_talks;
    out->n_linked += n_linked;
    out->n_separating += n_separating;
    clear(t, out);
}
