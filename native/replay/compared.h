#ifndef WAVETANK_REPLAY_COMPARED_H
#define WAVETANK_REPLAY_COMPARED_H

#include <stdint.h>

/* Of what was read, how much was compared with what. */
struct compared {
    int64_t pattern;   /* written before */
    int64_t zeros;     /* written by nobody */
    int64_t either;    /* in no known order with another rank's write: the pattern or zero */
    int64_t unchecked; /* nothing is known of them */
};

#endif
