// Partial runs: what the calls of one have fed and fetched so far, and whether another call fits. For every
// kind of session.
#ifndef BD_RUNTIME_PARTIAL_RUN_STATE_H
#define BD_RUNTIME_PARTIAL_RUN_STATE_H

#include "base/arena.h"
#include "runtime/client_graph.h"

typedef struct bd_partial_run_state {
    bd_run_signature signature; // what was set up; in the arena
    bool *is_over;              // whether each feed was fed and each fetch fetched, feeds first; in the arena
    int left;                   // how many were not
    bd_arena arena;
} bd_partial_run_state;

// Copies what is fed and fetched.
void bd_partial_run_state_init(bd_partial_run_state *p, const bd_run_signature *signature);
void bd_partial_run_state_fini(bd_partial_run_state *p);

// The positions of what `call` feeds and fetches among what was set up (feeds first, fetches behind all
// feeds), in its order. InvalidArgument: "... was not specified in partial_run_setup", "... has already been
// fed".
braid_code bd_partial_run_state_find(const bd_partial_run_state *p, const bd_run_signature *call,
                                     int *positions, braid_status *st);

// Which of what was set up is over; to be freed.
bool *bd_partial_run_state_copy_over(const bd_partial_run_state *p);

// Whether `call`, at `positions`, can compute what it fetches when the feeds that `is_over` says have been
// fed and `g` is the session's graph: InvalidArgument "Fetch ... can't be computed from the feeds that have
// been fed so far".
braid_code bd_partial_run_state_check(const bd_run_signature *set_up, const bool *is_over,
                                      const bd_run_signature *call, const int *positions,
                                      const braid_graph *g, braid_status *st);

// What is at `positions` is taken: no other call can have it any more. True: nothing is left.
bool bd_partial_run_state_take(bd_partial_run_state *p, const int *positions, int count);

#endif
