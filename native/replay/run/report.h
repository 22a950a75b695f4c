/* What a rank measured, as one line of JSON; rank 0 prints all of them. */
#ifndef WAVETANK_REPLAY_REPORT_H
#define WAVETANK_REPLAY_REPORT_H

#include "run/perform.h"

/* The reader trusts a result only between these two lines. */
#define RESULT_BEGIN "wavetank-replay-result 1\n"
#define RESULT_END "wavetank-replay-result-end\n"

void wt_report(struct replay *r);

#endif
