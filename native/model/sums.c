/* What the operations of each stream (a rank's data operations on a file) come to: how many, how many in
 * sequence, and how far they reach.
 *
 * Sequential, consecutive: Darshan's counts (POSIX_SEQ_READS, POSIX_CONSEC_READS in darshan-posix.c). An
 * operation is sequential when it begins behind the last byte of the rank's previous one of this direction,
 * consecutive right behind it. Before the first one Darshan's last byte is 0, so a first operation at an
 * offset above 0 counts. */
#include "columns.h"

#include <stdbool.h>
#include <string.h>

enum { UNKNOWN = -1, FIRST_END = 1 };

struct data { /* rows `index`, by stream and time */
    i64 n;
    const i64 *index;
    const uint8_t *reads; /* by call */
    struct column op, file, level, rank, view, count, size, moved, offset, disp, view_offset, view_disp, gap;
    struct around around;
};
struct sums { /* of one stream and file view */
    i64 file, level, rank, view;
    i64 reads, writes; /* operations */
    i64 sequential, consecutive;
    i64 end;            /* behind the last byte, in the view where there is one; 0 where no place is known */
    i64 known, unknown; /* operations at known places, and at others */
};
static _Thread_local struct {
    struct sums *rows;
    i64 n, room;
    jmp_buf failed;
} out;

static i64 most(i64 a, i64 b) {
    return a > b ? a : b;
}

/* For how many i in [0, n) distance + i * step is at least 0; *equal: for how many it is 0. */
static i64 at_least_0(i64 distance, i64 step, i64 n, i64 *equal) {
    *equal = 0;
    if (step == 0) {
        *equal = distance == 0 ? n : 0;
        return distance >= 0 ? n : 0;
    }
    i64 size = step < 0 ? -step : step;
    if (distance % step == 0 && -distance / step >= 0 && -distance / step < n) {
        *equal = 1;
    }
    i64 first =
        distance >= 0 ? 0 : (-distance + size - 1) / size; /* where a growing one is no longer negative */
    i64 last = distance < 0 ? 0 : distance / size + 1;     /* where a shrinking one becomes so */
    return step > 0 ? n - (first < n ? first : n) : last < n ? last : n;
}

/* How far the operations of a row reach. Only the last one may be short, so that the one before it may reach
 * further. */
static i64 end_of(i64 offset, i64 disp, i64 count, i64 size, i64 moved) {
    i64 last = offset + (count - 1) * disp, end = last + moved - (count - 1) * size;
    return count == 1 ? end : most(end, most(offset + size, last - disp + size));
}

static void all(const struct data *in) {
    struct {
        bool any;
        i64 end, row;
    } before[2]; /* by direction */
    memset(before, 0, sizeof before);
    for (i64 k = 0; k < in->n; k++) {
        i64 i = in->index[k], file = get(&in->file, i), level = get(&in->level, i), rank = get(&in->rank, i),
            view = get(&in->view, i);
        struct sums *of = out.n ? &out.rows[out.n - 1] : NULL;
        bool same = of && of->file == file && of->rank == rank && of->level == level;
        if (!same) {
            memset(before, 0, sizeof before);
        }
        if (!same || of->view != view) {
            out.rows = grown(out.rows, out.n, &out.room, sizeof *out.rows, out.failed);
            out.rows[out.n] = (struct sums){.file = file, .level = level, .rank = rank, .view = view};
            of = &out.rows[out.n++];
        }
        i64 count = get(&in->count, i), size = get(&in->size, i), moved = get(&in->moved, i),
            gap = get(&in->gap, i);
        i64 offset = get(&in->offset, i), disp = get(&in->disp, i), inner = disp - size;
        bool reads = in->reads[get(&in->op, i)];
        *(reads ? &of->reads : &of->writes) += count + gap;
        i64 ends = FIRST_END, grows = 0;
        if (before[reads].any) {
            ends = before[reads].end + left_out(&in->around, before[reads].row, i);
            grows = get(&in->around.step, i) - get(&in->around.step, before[reads].row);
        }
        of->sequential += (offset >= ends) + (inner >= 0 ? count - 1 : 0);
        of->consecutive += (offset == ends) + (inner == 0 ? count - 1 : 0);
        if (gap) { /* from repetition to repetition the distance between two rows grows evenly */
            i64 equal;
            of->sequential += at_least_0(offset - ends - grows, -grows, gap, &equal);
            of->consecutive += equal;
        }
        before[reads].any = true;
        before[reads].end = offset + (count - 1) * disp + moved - (count - 1) * size;
        before[reads].row = i;
        *(offset == UNKNOWN ? &of->unknown : &of->known) += count + gap;
        if (offset == UNKNOWN) {
            continue;
        }
        if (view >= 0) {
            offset = get(&in->view_offset, i);
            disp = get(&in->view_disp, i);
        }
        of->end = most(of->end, end_of(offset, disp, count, size, moved));
    }
}

/* The sums; *n of them, -1 without memory. To be freed by wt_free. */
WT_EXPORT struct sums *wt_sums(const struct data *in, i64 *n) {
    memset(&out, 0, sizeof out);
    *n = -1;
    if (setjmp(out.failed)) {
        free(out.rows);
        return NULL;
    }
    all(in);
    *n = out.n;
    return out.rows;
}
