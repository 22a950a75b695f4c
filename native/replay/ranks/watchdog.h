/* A process beside each rank that says what became of it: the rank that is killed cannot, and not every
 * launcher tells which one it was. It sees the rank's status, sleeps, and does no I/O but its own lines.
 */
#ifndef WAVETANK_REPLAY_WATCHDOG_H
#define WAVETANK_REPLAY_WATCHDOG_H

/* Marks the lines of standard output on a rank that makes no progress for some time, and on one that does
 * again; each carries one JSON object. */
#define WAITING_MARK "wavetank-replay-waiting "
#define MOVING_MARK "wavetank-replay-moving "

/* A line of rank 0: the launcher has started all ranks, and MPI_Init is through. */
#define STARTED_MARK "wavetank-replay-started"

/* Go on as the rank, with the process that called this as the watching one, where an argument is
 * --watch=SECONDS: how long without progress is worth a line. A traced replay is not watched: its trace holds
 * its ranks alone. */
void wt_watchdog_start(int argc, char **argv);

#endif
