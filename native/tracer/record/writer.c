/* Gathers blocks for the process's part: coded rows, and records that describe them (meta). Both are in the
 * tail, which a reader finds after a kill, until a flush puts them into the part. Where the part cannot be
 * written the program goes on, and its operations are counted only. */
#define _GNU_SOURCE
#include "record/part.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool wt_part_wanted, wt_part_is_open;

static uint8_t *meta_record;        /* start of the open record's fields */
static uint64_t n_coded, n_written; /* operations that are coded, and those of them that are in the part */
uint64_t *wt_not_written;

/* Where blocks of the coded rows end: damage costs what comes after it, so blocks are small. */
static uint32_t block_ends[WT_ROWS_BYTES / WT_BLOCK_BYTES + 2];
static unsigned n_block_ends;

WT_COLD void wt_open_part(void) {
    int saved = errno;
    wt_part_is_open = true;
    if (!wt_part_create()) {
        wt_stop("cannot write the trace", errno);
    } else {
        wt_clock_anchor();
        wt_part_map_tail();
    }
    errno = saved;
}

static bool put_row_blocks(int fd, const struct wt_tail *tail) {
    uint32_t at = 0;
    for (unsigned i = 0; i <= n_block_ends; i++) {
        uint32_t end = i < n_block_ends ? block_ends[i] : tail->n_coded_bytes;
        if (!wt_part_put(fd, WT_BLOCK_ROWS, tail->rows_coded + at, end - at)) {
            return false;
        }
        at = end;
    }
    return true;
}

void wt_writer_flush(void) {
    struct wt_tail *tail = wt_tail;
    bool idle = !wt_part_is_open && !wt_part_wanted;
    if (idle || !wt_active || wt_counting || wt_stopping ||
        (tail->n_coded_bytes == 0 && tail->n_meta_bytes == 0)) {
        return; /* a process that does no I/O, is no rank and starts no other leaves no part */
    }
    if (!wt_part_is_open) {
        wt_open_part();
        tail = wt_tail;
    }
    int saved = errno;
    uint64_t length = tail->part_length;
    int fd = wt_part_open();
    bool ok =
        fd >= 0 && wt_part_put(fd, WT_BLOCK_META, tail->meta, tail->n_meta_bytes) && put_row_blocks(fd, tail);
    int error = errno;
    if (!ok) {
        tail->part_length = length; /* what was written of it is not a block */
        if (fd >= 0) {
            syscall(SYS_ftruncate, fd, (off_t)length);
        }
        wt_stop("cannot write the trace", error);
    } else {
        tail->n_coded_bytes = tail->n_meta_bytes = 0;
        n_block_ends = 0;
        n_written = n_coded;
    }
    if (fd >= 0) {
        syscall(SYS_close, fd);
    }
    errno = saved;
}

void wt_writer_end(void) {
    if (wt_active) {
        wt_part_drop_tail();
    }
}

/* In a child after fork: the parent's tail stays the parent's. */
void wt_writer_reset(void) {
    wt_part_reset();
    n_coded = n_written = 0;
    memset(wt_tail, 0, offsetof(struct wt_tail, rows));
    wt_part_is_open = wt_part_wanted = false;
    meta_record = NULL;
    n_block_ends = 0;
}

void wt_write_rows(const struct wt_row *rows, const struct wt_nest *nests, unsigned n_rows, uint64_t base_seq,
                   uint64_t end_seq) {
    wt_clock_anchor();
    n_coded = end_seq;
    wt_tail->n_coded_bytes += (uint32_t)wt_group_encode(rows, nests, n_rows, base_seq,
                                                        wt_tail->rows_coded + wt_tail->n_coded_bytes);
    uint32_t begin = n_block_ends > 0 ? block_ends[n_block_ends - 1] : 0;
    if (wt_tail->n_coded_bytes - begin >= WT_BLOCK_BYTES &&
        n_block_ends < sizeof block_ends / sizeof *block_ends) {
        block_ends[n_block_ends++] = wt_tail->n_coded_bytes;
    }
    if (wt_tail->n_coded_bytes > WT_ROWS_BYTES) {
        wt_writer_flush();
    }
}

/* A record's length comes before its fields: three bytes are kept for it. n_meta_bytes grows when the record
 * is complete, so a kill meanwhile leaves it out. */
static uint32_t meta_at;

void wt_meta_begin(enum wt_meta type) {
    if (wt_tail->n_meta_bytes > WT_META_BYTES) {
        wt_writer_flush();
        if (wt_active && !wt_counting && !wt_stopping) {
            wt_tail->n_meta_bytes = 0; /* also when the process has no part yet, and may never open one */
        }
    }
    meta_at = wt_tail->n_meta_bytes;
    wt_tail->meta[meta_at++] = (uint8_t)type;
    meta_record = wt_tail->meta + meta_at;
    meta_at += 3;
}

static bool meta_has_room(size_t n) {
    return meta_at + n + 16 <= sizeof wt_tail->meta;
}

void wt_meta_number(uint64_t value) {
    if (meta_has_room(0)) {
        meta_at = (uint32_t)(wt_put_varint(wt_tail->meta + meta_at, value) - wt_tail->meta);
    }
}

void wt_meta_signed(int64_t value) {
    wt_meta_number(wt_zigzag(value));
}

void wt_meta_string(const char *text) {
    wt_meta_bytes(text, strnlen(text, WT_PATH_BYTES));
}

void wt_meta_bytes(const void *bytes, size_t n) {
    if (!meta_has_room(n + 16)) {
        n = 0;
    }
    wt_meta_number(n);
    memcpy(wt_tail->meta + meta_at, bytes, n);
    meta_at += (uint32_t)n;
}

void wt_meta_end(void) {
    size_t n = meta_at - (size_t)(meta_record - wt_tail->meta) - 3;
    meta_record[0] = (uint8_t)(n | 0x80); /* a varint of always three bytes */
    meta_record[1] = (uint8_t)(n >> 7 | 0x80);
    meta_record[2] = (uint8_t)(n >> 14 & 0x7f);
    meta_record = NULL;
    if (!wt_counting) { /* what describes operations that are only counted is left out */
        wt_tail->n_meta_bytes = meta_at;
    }
}

/* ---- faults ---- */

static void say(const char *text) {
    if (syscall(SYS_write, 2, text, strlen(text)) < 0) {
        return; /* nobody listens */
    }
}

WT_COLD void wt_stop(const char *what, int error) {
    if (!wt_active || wt_counting || wt_stopping) {
        return;
    }
    wt_inside++;
    wt_stopping = true;
    const char *why = strerrordesc_np(error);
    say("wavetank: ");
    say(what);
    say(" in ");
    say(wt_directory);
    say(": ");
    say(why ? why : "unknown error");
    say(". The program goes on untraced\n");
    uint32_t before = wt_tail->n_meta_bytes;
    wt_meta_begin(WT_META_NOTE); /* stays in the tail, whose space is taken already */
    wt_meta_number(WT_NOTE_STOPPED);
    wt_meta_string(why ? why : "unknown error");
    wt_meta_end();
    uint64_t recorded =
        wt_n_recorded + (wt_tail->has_open ? wt_tail->rows[wt_tail->half][wt_tail->n_rows].count : 0);
    wt_not_written =
        wt_part_stopped(wt_tail->meta + before, wt_tail->n_meta_bytes - before, recorded - n_written);
    wt_counting = wt_not_written != NULL; /* else nobody would read the count */
    wt_active = wt_counting;
    wt_stopping = false;
    wt_inside--;
}
