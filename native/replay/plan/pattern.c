/* Makes the bytes that are written, once: a write takes them from the buffer at the place that its offset
 * names, so that it costs no more than one of any bytes. */
#define _GNU_SOURCE
#include "plan/pattern.h"

#include "failure.h"
#include "plan/views.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 << 20 };

char *wt_aligned_buffer(int64_t size) {
    void *p = NULL;
    /* Large requests go faster from large pages: 1 to 3 % at 1 MiB on tmpfs and in the page cache. */
    const int large = size >= LARGE_PAGE / 2;
    const size_t alignment = large ? LARGE_PAGE : PATTERN_ALIGNMENT;
    const size_t length = ((size_t)size / alignment + 1) * alignment;
    if (posix_memalign(&p, alignment, length) != 0) {
        wt_fail(NULL, "out of memory: the kernel's largest operation has %lld bytes", (long long)size);
    }
    if (large) {
        madvise(p, length, MADV_HUGEPAGE);
    }
    memset(p, 0, length); /* page faults now, not in the first operation */
    return p;
}

/* splitmix64 (Vigna, public domain), as pattern.py. */
static uint64_t mixed(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void wt_pattern_make(struct pattern *pattern, int64_t largest) {
    pattern->bytes = wt_aligned_buffer(PATTERN_PERIOD + largest);
    for (size_t i = 0; i < PATTERN_PERIOD / 8; i++) {
        uint64_t w = mixed(i);
        for (int b = 0; b < 8; b++) {
            pattern->bytes[8 * i + (size_t)b] = (char)(w >> (8 * b)); /* little endian on every machine */
        }
    }
    for (int64_t done = PATTERN_PERIOD; done < PATTERN_PERIOD + largest;) {
        int64_t n = PATTERN_PERIOD + largest - done;
        if (n > done) {
            n = done - done % PATTERN_PERIOD;
        }
        memcpy(pattern->bytes + done, pattern->bytes, (size_t)n);
        done += n;
    }
}

void wt_pattern_fill(const struct pattern *pattern, int32_t file_id, const struct plan_view *view,
                     char *buffer, int64_t position, int64_t size) {
    for (int64_t done = 0; done < size;) {
        int64_t n, offset = wt_piece_in_file(view, position + done, &n);
        n = n < size - done ? n : size - done;
        memcpy(buffer + done, wt_pattern_at(pattern, file_id, offset), (size_t)n);
        done += n;
    }
}
