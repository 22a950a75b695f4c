/* Hashes of texts, for tables. */
#ifndef WT_HASH_H
#define WT_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t wt_hash(const char *text, size_t n) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    }
    return hash ? hash : 1;
}

#endif
