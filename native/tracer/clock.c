/* The clock: the time-stamp counter where it runs at a constant rate (10 ns a call), else CLOCK_MONOTONIC
 * (23 ns). Counter values become ns between two anchors, at which both clocks are read. */
#include "clock.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool wt_clock_is_tsc;
uint64_t wt_start_utc_ns, wt_start_mono_ns;
uint64_t wt_ns_of_units = (uint64_t)1 << 32;
int64_t wt_pause_units = INT64_MAX / 2, wt_pause_seen_units = INT64_MAX / 2; /* until they are known */

#define ANCHORS_APART_NS 100000000 /* nearer anchors would make a rough rate */

static struct { uint64_t units, ns; } first, older, newer;
static double ns_of_a_unit; /* between older and newer; 0: not known yet */

static uint64_t clock_ns(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t wt_clock_slow(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

static bool tsc_is_steady(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)); /* "invariant TSC" */
#else
    return false;
#endif
}

/* Both clocks at one moment: the tightest of some tries, since a try may be interrupted. */
static void read_both(uint64_t *units, uint64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        uint64_t before = wt_now(), middle = clock_ns(CLOCK_MONOTONIC), after = wt_now();
        if (after - before < best) {
            best = after - before;
            *units = before + (after - before) / 2;
            *ns = middle;
        }
    }
}

void wt_clock_start(void) {
    wt_clock_is_tsc = tsc_is_steady();
    wt_start_utc_ns = clock_ns(CLOCK_REALTIME);
    read_both(&newer.units, &newer.ns);
    wt_start_mono_ns = newer.ns;
    first = older = newer;
    ns_of_a_unit = 0;
}

void wt_clock_anchor(void) {
    uint64_t units, ns;
    read_both(&units, &ns);
    if (units > newer.units && ns > newer.ns) {
        if (newer.ns - older.ns >= ANCHORS_APART_NS) {
            older = newer;
        }
        if (wt_clock_is_tsc) {
            wt_ns_of_units =
                (uint64_t)((double)(ns - first.ns) / (double)(units - first.units) * (double)(1ull << 32));
        }
        wt_pause_units = (int64_t)(((unsigned __int128)WT_PAUSE_NS << 32) / wt_ns_of_units);
        wt_pause_seen_units = wt_pause_units / (WT_PAUSE_NS / WT_PAUSE_SEEN_NS);
        newer.units = units;
        newer.ns = ns;
        ns_of_a_unit = (double)(newer.ns - older.ns) / (double)(newer.units - older.units);
    }
    wt_tail->older_units = older.units;
    wt_tail->older_ns = older.ns - wt_start_mono_ns;
    wt_tail->newer_units = newer.units;
    wt_tail->newer_ns = newer.ns - wt_start_mono_ns;
}

struct wt_rate wt_clock_rate(void) {
    if (!wt_clock_is_tsc) {
        return (struct wt_rate){.units = wt_start_mono_ns, .ns = 0, .ns_of_a_unit = 1};
    }
    if (ns_of_a_unit <= 0) {
        return (struct wt_rate){.units = newer.units, .ns = (int64_t)(newer.ns - wt_start_mono_ns)};
    }
    return (struct wt_rate){
        .units = older.units, .ns = (int64_t)(older.ns - wt_start_mono_ns), .ns_of_a_unit = ns_of_a_unit};
}

uint64_t wt_clock_ns(uint64_t units) {
    struct wt_rate rate = wt_clock_rate();
    return wt_ns_at(&rate, units);
}
