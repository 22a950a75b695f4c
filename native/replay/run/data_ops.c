/* The data operations of a phase: the part of the program whose speed matters. What the operations of a run
 * have in common is found before the loop over them. Where nothing lies between two, the end of one is the
 * start of the next, which saves a clock call. */
#include "run/perform_parts.h"

#include "backends/kernel_copies.h"
#include "backends/raw_syscalls.h"
#include "failure.h"
#include "plan/views.h"
#include "run/flush.h"
#include "verify/extent_check.h"
#include "verify/verify_state.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { LEAST_BLOCK = 512 }; /* bytes: of storage, for O_DIRECT */

static _Noreturn void fail_data(const struct replay *r, const struct open_file *f, enum call call,
                                int64_t offset, int64_t size, int64_t moved, int64_t expected) {
    struct doing doing = {wt_calls[call].name, f->file->name, offset, size};
    if (moved < 0) {
        const char *reason = wt_backend_of(r, wt_calls[call].layer)->reason();
        const bool unaligned = r->settings->direct && wt_calls[call].layer == LAYER_POSIX &&
                               (offset % LEAST_BLOCK || size % LEAST_BLOCK) &&
                               strcmp(reason, strerror(EINVAL)) == 0;
        wt_fail(&doing, "%s%s", reason,
                unaligned ? ": with O_DIRECT offset and size must be multiples of the storage's block size. "
                            "Leave out --direct"
                          : "");
    }
    wt_fail(&doing, "%lld bytes were moved, %lld in the traced run: %s", (long long)moved,
            (long long)expected,
            wt_calls[call].kind == KIND_READ ? "the file is too short; prepare it" : "the write came short");
}

static char *source_for(struct replay *r, const struct open_file *f, int64_t position, int64_t size) {
    char *source = wt_pattern_at(&r->pattern, f->file->content, position);
    if (!r->settings->verify || !(f->view || f->memory)) { /* one piece of the file, or nobody looks */
        return source;
    }
    if (f->view) {
        wt_pattern_fill(&r->pattern, f->file->content, f->view, r->fill_buffer, position, size);
        source = r->fill_buffer;
    }
    if (!f->memory) {
        return source;
    }
    wt_memory_put(f->memory, r->packed_buffer, source, size);
    return r->packed_buffer;
}

/* The rest of a POSIX call that moved less than in the traced run, though something: a system call moves at
 * most 2 GiB - 4 KiB, and some file systems return early. At the end of a file it stays short. */
static int64_t finish(data_call issue, struct open_file *f, char *buffer, int64_t position, int64_t size,
                      int64_t moved, int64_t expected) {
    while (moved < expected) {
        int64_t more = issue(f, buffer + moved, size - moved, position + moved);
        if (more <= 0) {
            return more < 0 ? more : moved;
        }
        moved += more;
    }
    return moved;
}

/* Both sides of a copy last as long as the call that is both. */
static void note_copy(struct replay *r, struct phase_state *p, enum call call, int64_t start, int64_t end) {
    if (wt_starts_copy(call) && wt_copies_waiting()) {
        r->copy_phase = p;
        return;
    }
    struct phase_state *sides[] = {p, r->copy_phase};
    for (int i = 0; i < 2; i++) {
        if (sides[i]) {
            wt_latency_add(&sides[i]->latencies, end - start);
            sides[i]->io_ns += end - start;
            sides[i]->last_ns = end;
        }
    }
    r->copy_phase = NULL;
}

void wt_finish_copy(struct replay *r) {
    if (!wt_copies_waiting()) {
        return;
    }
    int64_t start = wt_now_ns();
    if (!wt_copies_finish()) {
        wt_fail(&(struct doing){"a copy", NULL, -1, -1}, "%s", strerror(errno));
    }
    int64_t end = wt_now_ns();
    wt_activity_calls(&r->activity, IO_DATA, start, end);
    struct phase_state *p = r->copy_phase;
    r->copy_phase = NULL;
    if (p) {
        note_copy(r, p, CALL_READ, start, end);
    }
}

/* A read of bytes that another rank is to write: it did so before in the traced run, by a message perhaps
 * that the plan does not hold. */
static void wait_for_bytes(struct replay *r, struct open_file *f, int64_t end) {
    f->known_size = wt_raw_size(f->fd);
    if (f->known_size < 0 || f->known_size >= end) {
        return;
    }
    r->waited_reads++;
    int64_t start = wt_now_ns();
    while (f->known_size < end && wt_now_ns() - start < PATIENCE_NS) {
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        f->known_size = wt_raw_size(f->fd);
    }
    wt_activity_waits(&r->activity, start, wt_now_ns());
}

/* Now, after work that is no I/O since a time. */
static int64_t after_waiting(struct replay *r, int64_t since) {
    int64_t now = wt_now_ns();
    wt_activity_waits(&r->activity, since, now);
    return now;
}

/* n operations of one member, all within its current run. *clock is the end of what came before: where
 * nothing lies between two operations, one's end is the other's start, which saves a clock call. */
static void issue(struct replay *r, struct phase_state *p, struct member_state *m, struct open_file *f,
                  int64_t n, int64_t *clock) {
    const struct plan_run *run = &m->member->runs[m->run];
    const enum call call = m->member->call;
    const bool reads = wt_calls[call].kind == KIND_READ;
    const bool placed = m->member->placed;
    const bool by_pointer = placed && wt_calls[call].place == PLACE_POINTER && !(f->append && !reads);
    const bool posix = wt_calls[call].layer == LAYER_POSIX;
    const bool copies = wt_is_copy(call);
    const bool may_wait = posix && reads && placed && f->file->made_in_run && !r->settings->null;
    const enum completion later = wt_completion_of(call);
    const bool at_once = later == COMPLETES_AT_ONCE;
    const bool verify = r->settings->verify && placed && at_once;
    /* A collective write of which all ranks know when the others' part is done. */
    const bool meets = r->settings->verify && !posix && !reads && at_once && wt_calls[call].collective;
    const int64_t rs = run->rs;
    int64_t position = run->offset + m->i * run->disp, t = *clock, bytes = 0, io_ns = 0, moved = 0;
    const int64_t span = m->member->memory ? wt_memory_span(m->member->memory, rs) : rs;
    f->memory = m->member->memory;
    wt_status_enter(RANK_WORKS, wt_calls[call].name, f->file->name, position, rs);
    for (int64_t left = n; left > 0; left--) {
        char *buffer = r->read_buffer;
        if (!reads) {
            buffer = source_for(r, f, position, rs);
            if (verify) {
                t = after_waiting(r, t);
            }
        }
        if (later != COMPLETES_AT_ONCE) {
            char *own = wt_take_buffer(r, span);
            if (!reads) {
                memcpy(own, buffer, (size_t)span);
            }
            buffer = own;
            wt_note_under_way(f, (struct under_way){.call = call,
                                                    .buffer = own,
                                                    .memory = f->memory,
                                                    .size = rs,
                                                    .position = placed ? position : -1,
                                                    .phase = (int32_t)(p - r->phases)});
            t = wt_now_ns();
        }
        if (by_pointer && f->position != position) {
            wt_place_pointer(r, f, position);
            t = wt_now_ns();
        }
        if (__builtin_expect(copies, 0) && wt_starts_copy(call)) {
            wt_finish_copy(r);
            t = wt_now_ns();
        }
        if (__builtin_expect(may_wait, 0)) {
            const int64_t end = position + (m->i + 1 == run->count ? run->moved_last : rs);
            if (end > f->known_size) {
                wait_for_bytes(r, f, end);
                t = wt_now_ns();
            }
        }
        wt_status->offset = position;
        wt_status->done++;
        moved = m->issue(f, buffer, rs, position);
        int64_t expected = ++m->i == run->count ? run->moved_last : rs;
        if (__builtin_expect(moved < expected && moved > 0, 0) && posix) {
            moved = finish(m->issue, f, buffer, position, rs, moved, expected);
        }
        int64_t end = wt_now_ns();
        if (__builtin_expect(moved != expected, 0)) {
            if (r->settings->null) {
                moved = expected;
            } else if (moved < expected) {
                fail_data(r, f, call, position, rs, moved, expected);
            } else if (posix && reads) {
                r->long_reads++;
            }
        }
        if (wt_calls[call].place == PLACE_POINTER) {
            f->position = (placed ? position : f->position) + moved;
        }
        bytes += moved;
        if (__builtin_expect(copies, 0)) {
            note_copy(r, p, call, t, end);
        } else {
            io_ns += end - t;
            wt_latency_add(&p->latencies, end - t);
        }
        if (__builtin_expect(r->progress != NULL, 0)) {
            wt_progress_add(r->progress, t - r->start_ns, end - r->start_ns, moved);
        }
        t = end;
        if (verify && reads && !r->settings->null) {
            wt_verify_read(r, f, wt_packed(r, f->memory, buffer, moved), position, moved, call);
            t = after_waiting(r, t);
        }
        if (__builtin_expect(meets, 0)) {
            if (placed) {
                wt_verify_wrote(f, run, position, rs, run->disp, 1, moved);
            }
            wt_verify_meet(f->communicator);
            t = after_waiting(r, t);
        }
        position += run->disp;
        if (__builtin_expect(end >= r->stop_at_ns, 0)) {
            r->stopped = true;
            n -= left - 1;
            break;
        }
    }
    f->memory = NULL;
    if (!reads) {
        *f->unflushed_bytes += bytes;
    }
    if (verify && !reads && !meets) {
        wt_verify_wrote(f, run, position - n * run->disp, rs, run->disp, n, moved);
    }
    if (r->settings->verify && reads && !placed && at_once) {
        r->compared.unchecked += bytes;
    }
    if (!posix && placed && n > 0) {
        const int64_t last = m->i == run->count ? run->moved_last : rs;
        wt_extent_note(f, reads, position - run->disp, last);
        wt_extent_note(f, reads, position - n * run->disp, n == 1 ? last : rs);
    }
    if (m->i == run->count) {
        m->run++;
        m->i = 0;
    }
    p->bytes += bytes;
    p->io_ns += io_ns;
    p->operations += n;
    *clock = t;
}

static void require_run(const struct replay *r, const struct phase_state *p, const struct member_state *m) {
    if (m->run >= m->member->n_runs) {
        wt_fail(&(struct doing){wt_calls[m->member->call].name, r->plan->files[p->phase->file].name, -1, -1},
                "the plan asks for more repetitions of phase %d than it has offsets for", p->phase->id);
    }
}

/* Have what the phase wrote on storage before the phase ends, when that is asked for. */
static void flush_phase(struct replay *r, struct phase_state *p, int64_t *clock) {
    const struct member_state *last = &p->members[p->phase->n_members - 1];
    struct open_file *f = last->file;
    for (int32_t i = 0; i < p->phase->n_members; i++) {
        if (wt_calls[p->members[i].member->call].kind == KIND_WRITE) {
            f = p->members[i].file;
        }
    }
    bool ended = last->run == last->member->n_runs;
    bool posix = f->layer == LAYER_POSIX;
    if (!ended || !f->written || !(posix || p->collective)) { /* MPI_File_sync is collective */
        return;
    }
    struct file_action action = {
        .call = posix ? CALL_FSYNC : CALL_M_SYNC, .file = f->file, .open = f, .offset = -1};
    const struct backend *backend = wt_backend_of(r, f->layer);
    if (!backend->act(&action)) {
        wt_fail(&(struct doing){wt_calls[action.call].name, f->file->name, -1, -1}, "%s", backend->reason());
    }
    int64_t end = wt_now_ns();
    wt_flush_acted(r, &action);
    wt_activity_calls(&r->activity, IO_FLUSH, *clock, end);
    p->io_ns += end - *clock;
    *clock = end;
}

/* The opens that a step's calls go through, by member. */
static void find_files(struct replay *r, const struct plan_step *step, struct phase_state *p) {
    const struct plan_phase *phase = p->phase;
    const struct plan_file *file = &r->plan->files[phase->file];
    for (int32_t i = 0; i < phase->n_members; i++) {
        const struct plan_member *member = &phase->members[i];
        const struct call_facts *facts = &wt_calls[member->call];
        int64_t handle = step->handle >= 0 ? step->handle : member->handle;
        struct open_file *f = wt_find_open(r, file, facts->layer, handle, facts->kind);
        if (!f && facts->layer == LAYER_MPIIO) {
            wt_fail(&(struct doing){facts->name, file->name, -1, -1}, "the file is not open in the plan");
        }
        if (!f) {
            f = wt_open_unasked(r, file, facts->kind);
        }
        if (facts->kind == KIND_WRITE) {
            f->written = true;
            wt_flush_expect(r, f);
        }
        p->members[i].file = f;
    }
}

/* How many of some calls may follow each other until the next null seek is due; seeks are spread evenly. */
static int64_t until_seek(int64_t done, int64_t calls, int64_t seeks) {
    if (seeks == 0) {
        return calls - done;
    }
    if (seeks >= calls) {
        return 1;
    }
    int64_t made = done * seeks / calls;
    return ((made + 1) * calls + seeks - 1) / seeks - done;
}

void wt_perform_data_step(struct replay *r, const struct plan_step *step) {
    struct phase_state *p = wt_enter_phase(r, step->phase);
    const int32_t n_members = p->phase->n_members;
    const int64_t calls = step->single ? step->count : step->count * n_members;
    const int64_t seeks = step->null_seeks;
    find_files(r, step, p);
    int64_t clock = wt_now_ns();
    if (p->first_ns < 0) {
        p->first_ns = clock;
    }
    wt_activity_data_begins(&r->activity, clock);
    for (int64_t done = 0; done < calls;) {
        struct member_state *m = &p->members[p->next];
        require_run(r, p, m);
        if (__builtin_expect(m->file->pending_seeks > 0, 0)) {
            const struct plan_run *run = &m->member->runs[m->run];
            wt_make_pending_seeks(r, m->file, m->member->placed ? run->offset + m->i * run->disp : -1);
            clock = wt_now_ns();
        }
        int64_t n = 1;
        if (n_members == 1) {
            int64_t in_run = m->member->runs[m->run].count - m->i, free = until_seek(done, calls, seeks);
            n = calls - done < in_run ? calls - done : in_run;
            n = free < n ? free : n;
        }
        issue(r, p, m, m->file, n, &clock);
        if (__builtin_expect(r->stopped, 0)) {
            break;
        }
        p->next = p->next + 1 == n_members ? 0 : p->next + 1;
        int64_t due = (done + n) * seeks / calls - done * seeks / calls;
        done += n;
        if (due > 0 && m->file->layer == LAYER_POSIX) {
            wt_make_null_seeks(r, m->file, due);
            if (done < calls) {
                clock = wt_now_ns();
            }
        }
    }
    if (r->settings->flush == FLUSH_PHASE) {
        flush_phase(r, p, &clock);
    }
    wt_activity_data_ends(&r->activity, clock);
    p->last_ns = clock;
}
