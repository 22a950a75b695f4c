/* The reader's decoder: ROWS payloads to columns. Called by src/wavetank/trace/decoder.py through ctypes.
 * Input may be anything: every length is checked, and no arithmetic overflows. */
#ifndef WT_DECODE_H
#define WT_DECODE_H

#include <stddef.h>
#include <stdint.h>

/* Columns of the fold table, in the order of FoldTable in src/wavetank/trace/schema.py, without the rank. */
struct wt_columns {
    int64_t *seq;
    uint8_t *op;
    int32_t *file;
    int32_t *handle;
    int64_t *count;
    int64_t *size;
    int64_t *moved;
    int64_t *offset;
    int64_t *disp;
    int32_t *view;
    int64_t *view_offset;
    int64_t *view_disp;
    int64_t *tick;
    int64_t *subtick;
    int64_t *tick_step;
    int64_t *subtick_step;
    int64_t *start_ns;
    int64_t *end_ns;
    int64_t *busy_ns;
    int64_t *arg;
    int32_t *error;
};

/* Rows in a payload, -1 if it is not one. */
int64_t wt_count_rows(const uint8_t *payload, size_t length);
/* Fills at most `room` rows of every column; rows filled, -1 if the payload is damaged. */
int64_t wt_decode_rows(const uint8_t *payload, size_t length, const struct wt_columns *columns, int64_t room);

#endif
