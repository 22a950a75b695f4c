/* Stands in for MPI-IO where the program is built without MPI, so that the files that call it are the same in
 * every build. The first such call of a plan ends the replay, and says which programs can make it. */
#include "backends/backend.h"
#include "failure.h"

static void none_start(const struct plan *plan) {
    (void)plan;
}

static data_call none_data(enum call call) {
    wt_fail(&(struct doing){wt_calls[call].name, NULL, -1, -1},
            "this program is built without MPI. Use wavetank-replay-openmpi or wavetank-replay-mpich");
}

static bool none_act(const struct file_action *action) {
    none_data(action->call);
    return false;
}

static const char *none_reason(void) {
    return "";
}

static int none_error(void) {
    return 0;
}

static void none_end(void) {}

const struct backend wt_backend_mpiio = {"mpiio",     none_start, none_data, none_act,
                                         none_reason, none_error, none_end};
