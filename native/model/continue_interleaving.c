/* A chunk that goes on, as a whole, with the interleaving that the chunk before it ended with: its substreams
 * are known, so that for an operation little is to be done. Two passes over the chunk, each over columns that
 * the other does not read; then one over what lies substream by substream. */
#include "model.h"
#include "substreams.h"

#include <string.h>

enum { TILE = 512, SLOTS = 1024 };

/* --- which substream --- */

struct keys {
    uint16_t slots[SLOTS]; /* number of a key + 1 */
    struct {
        int32_t file, handle, given;
        uint32_t op;
    } of[WT_MOST_SUBSTREAMS];
};

static inline uint32_t place_of(uint32_t op, int32_t file, int32_t handle) {
    return (((uint32_t)file * 31u + op) * 0x9E3779B1u ^ (uint32_t)handle * 0x85EBCA6Bu) >> 22;
}

static void fill(struct keys *keys, const struct wt_unfinished *g) {
    memset(keys->slots, 0, sizeof keys->slots);
    for (int64_t k = 0; k < g->n_substreams; k++) {
        if (g->role[k] == WT_STRAY) {
            continue;
        }
        uint32_t at = place_of(g->op[k], g->file[k], g->handle[k]);
        while (keys->slots[at]) {
            at = (at + 1) % SLOTS;
        }
        keys->slots[at] = (uint16_t)(k + 1);
        keys->of[k].file = g->file[k];
        keys->of[k].handle = g->handle[k];
        keys->of[k].given = g->given[k];
        keys->of[k].op = g->op[k];
    }
}

/* Whether rows [low, high) are single calls of the rank with nothing between that separates them. */
static bool all_plain(const struct wt_table *t, const struct wt_unfinished *g, int64_t low, int64_t high) {
    uint64_t wide = 0;
    uint32_t narrow = 0;
    for (int64_t i = low; i < high; i++) {
        wide |= (uint64_t)t->count[i] ^ 1;
    }
    for (int64_t i = low; i < high; i++) {
        wide |= (uint64_t)t->loop[i];
    }
    for (int64_t i = low; i < high; i++) {
        narrow |= ~(uint32_t)t->view[i]; /* -1: none */
    }
    for (int64_t i = low; i < high; i++) {
        narrow |= (uint32_t)t->error[i];
    }
    for (int64_t i = low; i < high; i++) {
        narrow |= (uint32_t)(t->rank[i] ^ g->rank);
    }
    if (g->calls || g->parts) {
        int64_t steps = g->calls ? 1 : 0, later = 0;
        int64_t first = t->tick[low] - (low ? t->tick[low - 1] : g->tick);
        if (g->calls ? first != 1 : first > 0) {
            return false;
        }
        for (int64_t i = low + 1; i < high; i++) {
            later |= g->calls ? (t->tick[i] - t->tick[i - 1]) ^ steps : t->tick[i - 1] - t->tick[i];
        }
        if (g->calls ? later != 0 : later < 0) {
            return false;
        }
    }
    return !wide && !narrow;
}

static bool name_substreams(const struct wt_table *t, const struct keys *keys, int64_t low, int64_t high,
                            uint8_t *restrict order) {
    const uint8_t *restrict op = t->op;
    const int32_t *restrict file = t->file, *restrict handle = t->handle, *restrict given = t->given;
    for (int64_t i = low; i < high; i++) {
        uint32_t at = place_of(op[i], file[i], handle[i]);
        for (;; at = (at + 1) % SLOTS) {
            uint32_t k = keys->slots[at];
            if (!k) {
                return false;
            }
            k--;
            if ((keys->of[k].file == file[i]) & (keys->of[k].handle == handle[i]) &
                (keys->of[k].op == op[i]) & (keys->of[k].given == given[i])) {
                order[i] = (uint8_t)k;
                break;
            }
        }
    }
    return true;
}

/* Seeks that do not lead to where the next operation of their owner begins. */
static bool find_strays(const struct wt_table *t, const struct wt_unfinished *g, uint8_t *order) {
    int64_t pending[WT_MOST_SUBSTREAMS];
    for (int64_t o = 0; o < g->n_owners; o++) {
        pending[o] = -1;
    }
    for (int64_t i = 0; i < t->n; i++) {
        uint8_t k = order[i];
        int32_t owner = g->owner[k];
        bool seek = g->role[k] == WT_SEEK;
        int64_t before = pending[owner];
        if (before >= 0 && (seek || t->offset[i] != t->offset[before])) {
            int32_t stray = g->stray_of[order[before]];
            if (stray < 0) {
                return false;
            }
            order[before] = (uint8_t)stray;
        }
        pending[owner] = seek ? i : -1;
    }
    for (int64_t o = 0; o < g->n_owners; o++) {
        if (pending[o] >= 0) {
            int32_t stray = g->stray_of[order[pending[o]]];
            if (stray < 0) {
                return false;
            }
            order[pending[o]] = (uint8_t)stray;
        }
    }
    return true;
}

/* --- substream by substream --- */

struct tail {
    int64_t *offset; /* the next ones */
    int64_t *sizes;
    uint64_t differs; /* sizes, from the first one */
    int64_t size;     /* of the first operation, */
    int64_t least;    /* and what each moves at least */
    int64_t sum, busy;
    int64_t *short_at; /* behind the last operation that moved less than asked for */
    int64_t n_short;
};

static bool lay(const struct wt_table *t, const uint8_t *restrict order, struct tail *restrict tails) {
    const int64_t *restrict from_offset = t->offset, *restrict from_size = t->size,
                            *restrict from_moved = t->moved, *restrict from_busy = t->busy_ns;
    int64_t bad = 0;
    for (int64_t i = 0; i < t->n; i++) {
        struct tail *one = &tails[order[i]];
        int64_t asked = from_size[i], moved = from_moved[i];
        *one->offset++ = from_offset[i];
        *one->sizes++ = asked;
        one->differs |= (uint64_t)(asked ^ one->size);
        one->sum += asked;
        one->busy += from_busy[i];
        bad |= from_offset[i] | (moved - one->least);
        if (moved != asked) {
            one->short_at = one->sizes;
            one->n_short++;
        }
    }
    return bad >= 0;
}

/* Whether a substream is one row: no part of it is regular, or of sizes more alike than the others. May say
 * no where it is one. */
static bool is_one_row(const struct wt_substreams *s, const struct tail *tail, int64_t begin, int64_t end) {
    const int64_t *restrict offset = s->offset, *restrict size = s->size;
    const int64_t block = s->regular / 2;
    if (end - begin < s->listed || end - begin < 2) {
        return false;
    }
    if (tail->n_short > 1 || (tail->n_short && tail->short_at != size + end)) {
        return false;
    }
    for (int64_t i = begin + block; i + 1 < end; i += block) {
        if (offset[i + 1] - offset[i] == offset[i] - offset[i - 1] &&
            (!tail->differs || (size[i] == size[i + 1] && size[i] == size[i - 1]))) {
            return false;
        }
    }
    if (!tail->differs) {
        return true;
    }
    for (int64_t i = begin; i + block < end; i += block) {
        int64_t k = 0;
        while (k < block && wt_similar(size[i + k], size[i + k + 1], s->low, s->high)) {
            k++;
        }
        if (k == block) {
            return false;
        }
    }
    return true;
}

/* Rows of the chunk substream by substream. */
static void find_places(const struct wt_table *t, const uint8_t *order, struct wt_substreams *s) {
    int64_t next[WT_MOST_SUBSTREAMS];
    memcpy(next, s->starts, (size_t)s->n_substreams * sizeof *next);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t place = next[order[i]]++;
        s->at[place] = (uint32_t)i;
        s->marks[place] = t->moved[i] == t->size[i] ? 0 : WT_SHORT;
    }
}

static int64_t position(const uint8_t *order, int64_t from, int64_t n, uint8_t substream) {
    const uint8_t *found = memchr(order + from, substream, (size_t)(n - from));
    return found - order;
}

static int64_t whole_row(const struct wt_table *t, struct wt_substreams *s, const uint8_t *order, uint8_t k,
                         const struct tail *tail, int64_t n) {
    int64_t begin = s->starts[k], end = s->starts[k + 1], last = t->n - 1;
    while (order[last] != k) {
        last--;
    }
    s->first[n] = begin;
    s->length[n] = end - begin;
    s->moved[n] = tail->sum - s->size[end - 1] + t->moved[last];
    s->busy[n] = tail->busy;
    s->kind[n] = tail->differs ? 3 : 2;
    s->head[n] = position(order, 0, t->n, k);
    s->second[n] = position(order, s->head[n] + 1, t->n, k);
    s->last[n] = last;
    return n + 1;
}

/* The lists of rows [from, to) of substream k, which lie where its lists go on: what is in none gives way. */
static void keep_lists(struct wt_unfinished *g, int64_t k, int64_t from, int64_t to) {
    const struct wt_substreams *s = &g->substreams;
    int64_t n_offsets = 0, n_sizes = 0;
    for (int64_t row = from; row < to; row++) {
        int64_t place = s->first[row] - s->starts[k];
        size_t bytes = (size_t)s->length[row] * sizeof(int64_t);
        g->listed[row] = g->sized[row] = -1;
        if (s->kind[row] < 2) {
            continue;
        }
        g->listed[row] = g->offset_at[k] + n_offsets;
        if (place != n_offsets) {
            memmove(g->offset_to[k] + n_offsets, g->offset_to[k] + place, bytes);
        }
        n_offsets += s->length[row];
        if (s->kind[row] < 3) {
            continue;
        }
        g->sized[row] = g->size_at[k] + n_sizes;
        if (place != n_sizes) {
            memmove(g->size_to[k] + n_sizes, g->size_to[k] + place, bytes);
        }
        n_sizes += s->length[row];
    }
    g->offset_at[k] += n_offsets;
    g->size_at[k] += n_sizes;
}

static int64_t make_all_rows(const struct wt_table *t, struct wt_unfinished *g, const uint8_t *order,
                             const struct tail *tails) {
    struct wt_substreams *s = &g->substreams;
    int64_t n = 0, *offset = s->offset, *size = s->size;
    bool placed = false;
    for (int64_t k = 0; k < s->n_substreams; k++) {
        int64_t begin = s->starts[k], end = s->starts[k + 1], before = n;
        if (begin == end) {
            continue;
        }
        bool own = g->offset_to && g->role[k] != WT_STRAY;
        s->offset = own ? g->offset_to[k] - begin : offset; /* so that place `begin` is the first one */
        s->size = own ? g->size_to[k] - begin : size;
        if (!s->singles[k] && is_one_row(s, &tails[k], begin, end)) {
            n = whole_row(t, s, order, (uint8_t)k, &tails[k], n);
        } else {
            if (!placed) {
                find_places(t, order, s);
            }
            placed = true;
            n = wt_rows_of_substream(t, s, k, n);
        }
        if (own) {
            keep_lists(g, k, before, n);
        } else if (g->offset_to) {
            for (int64_t row = before; row < n; row++) {
                g->listed[row] = g->sized[row] = -1; /* single ones */
            }
        }
    }
    s->offset = offset;
    s->size = size;
    return n;
}

int64_t wt_continue_interleaving(const struct wt_table *table, struct wt_unfinished *unfinished) {
    const struct wt_table copied = *table, *t = &copied;
    struct wt_substreams *s = &unfinished->substreams;
    uint8_t *order = unfinished->order;
    struct keys keys;
    struct tail tails[WT_MOST_SUBSTREAMS];
    int64_t counts[WT_MOST_SUBSTREAMS] = {0}, changes = 0;
    if (!t->n || unfinished->n_substreams > WT_MOST_SUBSTREAMS) {
        return WT_NOT_ON;
    }
    fill(&keys, unfinished);
    for (int64_t low = 0; low < t->n; low += TILE) {
        int64_t high = t->n - low < TILE ? t->n : low + TILE;
        if (!all_plain(t, unfinished, low, high) || !name_substreams(t, &keys, low, high, order)) {
            return WT_NOT_ON;
        }
    }
    for (int64_t i = 1; i < t->n; i++) {
        changes += order[i] != order[i - 1];
    }
    if ((double)changes < unfinished->often * (double)t->n || wt_holds_loops(order, t->n)) {
        return WT_NOT_ON;
    }
    if (unfinished->n_owners && !find_strays(t, unfinished, order)) {
        return WT_NOT_ON;
    }
    wt_tally(order, t->n, 1, counts, unfinished->n_substreams);
    if (!wt_files_irregular(order, t->n, counts, unfinished)) {
        return WT_NOT_ON;
    }
    int64_t sum = 0;
    for (int64_t k = 0; k < unfinished->n_substreams; k++) {
        s->starts[k] = sum;
        sum += counts[k];
        bool own = unfinished->offset_to && unfinished->role[k] != WT_STRAY;
        tails[k] = (struct tail){.offset = own ? unfinished->offset_to[k] : s->offset + s->starts[k],
                                 .sizes = own ? unfinished->size_to[k] : s->size + s->starts[k],
                                 .least = unfinished->least[k]};
        if (counts[k]) {
            tails[k].size = t->size[position(order, 0, t->n, (uint8_t)k)];
        }
    }
    s->starts[unfinished->n_substreams] = sum;
    if (!lay(t, order, tails)) {
        return WT_NOT_ON;
    }
    return make_all_rows(t, unfinished, order, tails);
}
