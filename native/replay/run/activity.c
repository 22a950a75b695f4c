/* Adds up when a rank was at I/O calls, in bounded memory: a list of spans that is thinned when it is full.
 */
#include "run/activity.h"

#include <inttypes.h>
#include <string.h>

static const int64_t FIRST_LENGTH_NS = 1000;

static const char *const RATE_NAMES[RATES] = {
#define X(id, name) name,
    REPLAY_RATES(X)
#undef X
};

void wt_activity_clear(struct activity *a) {
    memset(a, 0, sizeof *a);
    a->data_from_ns = -1;
}

static void merge(struct activity_span *into, const struct activity_span *next) {
    for (int k = 0; k < IO_KINDS; k++) {
        into->kind_ns[k] += next->kind_ns[k];
    }
    for (int k = 0; k < RATES; k++) {
        into->rate_ns[k] += next->rate_ns[k];
    }
    into->to_ns = next->to_ns;
}

static void make_room(struct activity *a) {
    while (a->n > ACTIVITY_SPANS / 2) {
        int32_t last = 0;
        a->shortest_ns = a->shortest_ns ? 2 * a->shortest_ns : FIRST_LENGTH_NS;
        for (int32_t i = 1; i < a->n; i++) {
            if (a->spans[i].to_ns - a->spans[last].from_ns < a->shortest_ns) {
                merge(&a->spans[last], &a->spans[i]);
            } else {
                a->spans[++last] = a->spans[i];
            }
        }
        a->n = last + 1;
    }
}

/* Whether a span went to one kind of call from its begin to its end. */
static bool is_all(const struct activity_span *span, enum io_kind kind) {
    return span->kind_ns[kind] == span->to_ns - span->from_ns;
}

static void add(struct activity *a, enum io_kind kind, enum io_rate rate, int64_t from_ns, int64_t to_ns) {
    struct activity_span *last = a->n > 0 ? &a->spans[a->n - 1] : NULL;
    if (last && (a->joined || from_ns < last->to_ns)) {
        from_ns = last->to_ns;
    }
    if (to_ns < from_ns) {
        to_ns = from_ns;
    }
    struct activity_span span = {.from_ns = from_ns, .to_ns = to_ns};
    span.kind_ns[kind] = to_ns - from_ns;
    if (rate != RATE_NONE) {
        span.rate_ns[rate] = to_ns - from_ns;
        a->n_calls[rate]++;
    }
    a->sum_ns[kind] += to_ns - from_ns;
    if (last && (to_ns - last->from_ns < a->shortest_ns || (from_ns == last->to_ns && is_all(last, kind)))) {
        merge(last, &span);
    } else {
        if (a->n == ACTIVITY_SPANS) {
            make_room(a);
        }
        a->spans[a->n++] = span;
    }
    a->joined = true;
}

void wt_activity_data_begins(struct activity *a, int64_t at_ns) {
    a->data_from_ns = at_ns;
}

void wt_activity_data_ends(struct activity *a, int64_t at_ns) {
    add(a, IO_DATA, RATE_NONE, a->data_from_ns, at_ns);
    a->data_from_ns = -1;
}

void wt_activity_call(struct activity *a, enum io_kind kind, enum io_rate rate, int64_t from_ns,
                      int64_t to_ns) {
    if (a->data_from_ns >= 0) {
        add(a, IO_DATA, RATE_NONE, a->data_from_ns, from_ns);
        a->data_from_ns = to_ns;
    }
    add(a, kind, rate, from_ns, to_ns);
}

void wt_activity_calls(struct activity *a, enum io_kind kind, int64_t from_ns, int64_t to_ns) {
    wt_activity_call(a, kind, RATE_NONE, from_ns, to_ns);
}

void wt_activity_waits(struct activity *a, int64_t from_ns, int64_t to_ns) {
    if (a->data_from_ns >= 0) {
        if (from_ns > a->data_from_ns) {
            add(a, IO_DATA, RATE_NONE, a->data_from_ns, from_ns);
        }
        a->data_from_ns = to_ns;
    }
    a->joined = false;
}

void wt_activity_print(const struct activity *a, int64_t start_ns, FILE *out) {
    fprintf(out,
            ",\"io\":{\"sums\":[%" PRId64 ",%" PRId64 ",%" PRId64 "],\"merged_below_ns\":%" PRId64
            ",\"spans\":[",
            a->sum_ns[IO_DATA], a->sum_ns[IO_METADATA], a->sum_ns[IO_FLUSH], a->shortest_ns);
    int64_t reached = start_ns;
    for (int32_t i = 0; i < a->n; i++) {
        const struct activity_span *s = &a->spans[i];
        fprintf(out, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, i ? "," : "",
                s->from_ns - reached, s->to_ns - s->from_ns, s->kind_ns[IO_DATA], s->kind_ns[IO_METADATA],
                s->kind_ns[IO_FLUSH]);
        for (int k = 0; k < RATES; k++) {
            if (s->rate_ns[k]) {
                fprintf(out, ",%d,%" PRId64, k, s->rate_ns[k]);
            }
        }
        fputc(']', out);
        reached = s->to_ns;
    }
    fputs("],\"rates\":{", out);
    const char *comma = "";
    for (int k = 0; k < RATES; k++) {
        if (!a->n_calls[k]) {
            continue;
        }
        fprintf(out, "%s\"%d\":[\"%s\",%" PRId64 "]", comma, k, RATE_NAMES[k], a->n_calls[k]);
        comma = ",";
    }
    fputs("}}", out);
}
