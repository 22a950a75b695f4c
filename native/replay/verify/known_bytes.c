/* The sets of bytes that are known of each file, and how they grow. They are apart, since both this rank's
 * own calls (verify_state.c) and what others tell (verify_exchange.c) add to them. */
#include "verify/known_bytes.h"

#include "failure.h"

struct all_known wt_verify;

struct knowledge *wt_verify_file(int32_t file) {
    if (!wt_verify.files[file]) {
        wt_verify.files[file] = wt_must_alloc(sizeof *wt_verify.files[file]);
        wt_verify.files[file]->latest_writer = -1;
        wt_ranges_add(&wt_verify.files[file]->holds, wt_one_piece(0, wt_verify.plan->files[file].prepared));
    }
    return wt_verify.files[file];
}

bool wt_verify_is_pending(const struct knowledge *k) {
    for (int32_t i = 0; i < k->n_cutters; i++) {
        if (k->cutters[i].done < k->cutters[i].total) {
            return true;
        }
    }
    return false;
}

void wt_verify_keep(int32_t file, struct band band) {
    wt_ranges_add(&wt_verify_file(file)->holds, band);
    if (wt_verify.shared[file]) {
        wt_ranges_add(&wt_verify_file(file)->fresh, band);
    }
}

void wt_verify_settle(int32_t file) {
    struct knowledge *k = wt_verify_file(file);
    for (int i = 0; i < N_GROWING; i++) {
        wt_verify_keep(file, k->growing[i].band);
        k->growing[i] = (struct growing){0};
    }
}
