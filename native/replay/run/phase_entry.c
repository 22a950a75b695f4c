/* A phase's members and the functions that make their calls, set up when a step first comes to the phase. It
 * is a file of its own, since data operations need it, and seeks, which they make, need it too. Files call
 * each other in one direction. */
#include "run/perform_parts.h"

#include "failure.h"

struct phase_state *wt_enter_phase(struct replay *r, int32_t index) {
    struct phase_state *p = &r->phases[index];
    if (p->members) {
        return p;
    }
    const struct plan_phase *phase = p->phase;
    p->members = wt_must_alloc((size_t)phase->n_members * sizeof *p->members);
    for (int32_t i = 0; i < phase->n_members; i++) {
        const struct plan_member *member = &phase->members[i];
        p->members[i] = (struct member_state){
            .member = member, .issue = wt_backend_of(r, wt_calls[member->call].layer)->data(member->call)};
        p->collective |= wt_calls[member->call].collective;
    }
    p->first_ns = -1;
    return p;
}
