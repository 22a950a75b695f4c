/* Columns of texts: which are equal, by hash tables in time linear in the texts. No object is made of a text:
 * the names and facts of a million files, as Python's objects, took two thirds of a model's time. */
#include "decode.h"
#include "decode_files.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

/* The next byte as it is compared, behind which *at then is: '0' for a run of digits where these are alike.
 */
static uint8_t next_byte(const uint8_t **at, const uint8_t *end, bool digits) {
    uint8_t byte = *(*at)++;
    if (!digits || !is_digit(byte)) {
        return byte;
    }
    while (*at < end && is_digit(**at)) {
        (*at)++;
    }
    return '0';
}

static uint64_t hash_of(const uint8_t *at, const uint8_t *end, int64_t kind, bool digits) {
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)kind; /* FNV-1a */
    while (at < end) {
        hash = (hash ^ next_byte(&at, end, digits)) * 0x100000001b3u;
    }
    hash ^= hash >> 32;
    return hash == 0 ? 1 : hash;
}

static bool are_alike(const struct wt_texts *texts, int64_t one, int64_t other, bool digits) {
    const uint8_t *a = texts->bytes + texts->start[one], *b = texts->bytes + texts->start[other];
    const uint8_t *end_a = a + texts->length[one], *end_b = b + texts->length[other];
    if (!digits) {
        return texts->length[one] == texts->length[other] && memcmp(a, b, (size_t)texts->length[one]) == 0;
    }
    while (a < end_a && b < end_b) {
        if (next_byte(&a, end_a, digits) != next_byte(&b, end_b, digits)) {
            return false;
        }
    }
    return a == end_a && b == end_b;
}

struct slot {
    uint64_t hash; /* 0: free */
    int64_t first;
};

WT_EXPORT int64_t wt_first_alike(const struct wt_texts *texts, const int64_t *kind, int64_t digits,
                                 int64_t *first) {
    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)texts->n) {
        n_slots *= 2;
    }
    struct slot *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return WT_TOO_MANY;
    }
    for (int64_t i = 0; i < texts->n; i++) {
        const uint8_t *text = texts->bytes + texts->start[i];
        uint64_t hash = hash_of(text, text + texts->length[i], kind[i], digits != 0);
        size_t at = (size_t)hash & (n_slots - 1);
        while (slots[at].hash != 0 && !(slots[at].hash == hash && kind[slots[at].first] == kind[i] &&
                                        are_alike(texts, slots[at].first, i, digits != 0))) {
            at = (at + 1) & (n_slots - 1);
        }
        if (slots[at].hash == 0) {
            slots[at] = (struct slot){hash, i};
        }
        first[i] = slots[at].first;
    }
    free(slots);
    return 0;
}

/* A table of numbers and where each came first; it grows with how many differ. */
struct numbers {
    size_t n_slots, n_used;
    struct slot *slots; /* hash: the number itself; first: + 1, 0: free */
};

static struct slot *slot_of(const struct numbers *table, uint64_t number) {
    size_t at = (size_t)((number ^ (number >> 32)) * 0x9e3779b97f4a7c15u >> 20) & (table->n_slots - 1);
    while (table->slots[at].first != 0 && table->slots[at].hash != number) {
        at = (at + 1) & (table->n_slots - 1);
    }
    return &table->slots[at];
}

static bool grow(struct numbers *table) {
    struct numbers larger = {.n_slots = table->n_slots ? 4 * table->n_slots : 1024, .n_used = table->n_used};
    larger.slots = calloc(larger.n_slots, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t at = 0; at < table->n_slots; at++) {
        if (table->slots[at].first != 0) {
            *slot_of(&larger, table->slots[at].hash) = table->slots[at];
        }
    }
    free(table->slots);
    *table = larger;
    return true;
}

WT_EXPORT int64_t wt_first_equal(const uint64_t *numbers, int64_t n, int64_t *first) {
    struct numbers table = {0};
    for (int64_t i = 0; i < n; i++) {
        if (2 * table.n_used >= table.n_slots && !grow(&table)) {
            free(table.slots);
            return WT_TOO_MANY;
        }
        struct slot *slot = slot_of(&table, numbers[i]);
        if (slot->first == 0) {
            *slot = (struct slot){numbers[i], i + 1};
            table.n_used++;
        }
        first[i] = slot->first - 1;
    }
    free(table.slots);
    return 0;
}

/* The next run of digits from *at on, with its length; NULL: there is none. */
static const uint8_t *next_number(const uint8_t **at, const uint8_t *end, size_t *length) {
    while (*at < end && !is_digit(**at)) {
        (*at)++;
    }
    const uint8_t *number = *at;
    while (*at < end && is_digit(**at)) {
        (*at)++;
    }
    *length = (size_t)(*at - number);
    return *length ? number : NULL;
}

WT_EXPORT void wt_varying_numbers(const struct wt_texts *texts, uint8_t *varies) {
    for (int64_t i = 1; i < texts->n; i++) {
        const uint8_t *a = texts->bytes + texts->start[0], *b = texts->bytes + texts->start[i];
        const uint8_t *end_a = a + texts->length[0], *end_b = b + texts->length[i];
        size_t length_a, length_b;
        for (size_t run = 0;; run++) {
            const uint8_t *one = next_number(&a, end_a, &length_a),
                          *other = next_number(&b, end_b, &length_b);
            if (one == NULL || other == NULL) {
                break;
            }
            varies[run] |= length_a != length_b || memcmp(one, other, length_a) != 0;
        }
    }
}
