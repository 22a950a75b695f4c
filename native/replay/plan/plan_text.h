/* Reading a plan's text: lines, words and numbers, and what is said of a damaged one. */
#ifndef WAVETANK_REPLAY_PLAN_TEXT_H
#define WAVETANK_REPLAY_PLAN_TEXT_H

#include "plan/plan.h"

#include <stddef.h>

/* Where the parser is. Words are cut out of the text in place. */
struct parser {
    char *rest;
    char *line; /* rest of the current line's words; NULL at the end of the plan */
    int64_t number;
    int rank;
    struct plan *plan;
};

/* Ends the program: names the line of a damaged plan. word is added to what, unless it is empty. */
_Noreturn void wt_plan_bad(int64_t line, const char *what, const char *word);
#define BAD(p, ...) wt_plan_bad((p)->number, __VA_ARGS__)

bool wt_plan_next_line(struct parser *p);
char *wt_plan_word(struct parser *p);
int64_t wt_plan_number(struct parser *p); /* "-" is -1 */
int64_t wt_plan_number_from(struct parser *p, int64_t low, int64_t high);
int32_t wt_plan_optional_index(struct parser *p, int32_t n); /* below n, or -1 */
int32_t wt_plan_file(struct parser *p, int64_t id);
int32_t wt_plan_phase(struct parser *p, int64_t id);
void wt_plan_unescape(char *text);                                     /* %XX to bytes, in place */
bool wt_plan_ranks_hold(struct parser *p, const char *text, int rank); /* text: "0-3,7" */

/* Room for one element more: arrays grow at powers of two. */
void *wt_plan_grown(void *array, int32_t n, size_t size);

void wt_plan_note_size(struct plan *plan, enum call call, int64_t size);

/* ---- plan_steps.c ---- */

/* Steps up to their "end". */
void wt_plan_parse_steps(struct parser *p);
/* The same, and keeps nothing: another rank's program. */
void wt_plan_skip_steps(struct parser *p);

#endif
