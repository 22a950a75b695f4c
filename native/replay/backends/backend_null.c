/* The null backend: nothing is done. What a replay by it takes is the program's own cost. */
#include "backends/backend.h"

static int64_t nothing(struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    (void)file;
    (void)buffer;
    (void)offset;
    return size;
}

static void null_start(const struct plan *plan) {
    (void)plan;
}

static data_call null_data(enum call call) {
    (void)call;
    return nothing;
}

static bool null_act(const struct file_action *action) {
    (void)action;
    return true;
}

static const char *null_reason(void) {
    return "";
}

static int null_error(void) {
    return 0;
}

static void null_end(void) {}

const struct backend wt_backend_null = {"null",      null_start, null_data, null_act,
                                        null_reason, null_error, null_end};
