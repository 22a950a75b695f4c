/* What the replay asks the system for itself, beside the plan: past a tracer, whose rows are the plan's
 * calls. */
#ifndef WAVETANK_REPLAY_RAW_SYSCALLS_H
#define WAVETANK_REPLAY_RAW_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of an open file; -1 where it cannot be told. */
int64_t wt_raw_size(int fd);

/* Whether a file of that name is there. */
bool wt_raw_exists(const char *path);

/* A file's descriptor, or -1 and errno. */
int wt_raw_open(const char *path, int flags);

/* Bring an open file to storage: 0, or why that failed (errno). */
int wt_raw_sync(int fd);

void wt_raw_close(int fd);

struct raw_facts {
    bool regular; /* not a pipe, device, folder */
    int64_t size;
    uint64_t device, number; /* of the inode */
};

/* Of an open file, or where fd is negative of the one of that name. */
bool wt_raw_look(int fd, const char *path, struct raw_facts *facts);

/* Where the file pointer is. */
int64_t wt_raw_position(int fd);

#endif
