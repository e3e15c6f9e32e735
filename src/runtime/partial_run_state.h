// The state of a partial run: the values that were fed and fetched so far, and whether another call is valid.
// For every kind of session.
#ifndef BD_RUNTIME_PARTIAL_RUN_STATE_H
#define BD_RUNTIME_PARTIAL_RUN_STATE_H

#include "base/arena.h"
#include "runtime/client_graph.h"

typedef struct bd_partial_run_state {
    bd_run_signature signature; // the signature of the setup; in the arena
    bool *is_over;              // whether each feed was fed and each fetch fetched, feeds first; in the arena
    int left;                   // how many were not
    bd_arena arena;
} bd_partial_run_state;

// Copies the feeds and fetches.
void bd_partial_run_state_init(bd_partial_run_state *p, const bd_run_signature *signature);
void bd_partial_run_state_fini(bd_partial_run_state *p);

// Stores the positions of the call's feeds and fetches in the setup's signature (feeds first, then fetches),
// in the order of the call. InvalidArgument: "... was not specified in partial_run_setup", "... has already
// been fed".
braid_code bd_partial_run_state_find(const bd_partial_run_state *p, const bd_run_signature *call,
                                     int *positions, braid_status *st);

// Returns which feeds and fetches of the setup are done; the caller frees it.
bool *bd_partial_run_state_copy_over(const bd_partial_run_state *p);

// Checks that `call`, at `positions`, can compute its fetches from the feeds that are done in `is_over` and
// its own; `g` is the session's graph. InvalidArgument "Fetch ... can't be computed from the feeds that have
// been fed so far".
braid_code bd_partial_run_state_check(const bd_run_signature *set_up, const bool *is_over,
                                      const bd_run_signature *call, const int *positions,
                                      const braid_graph *g, braid_status *st);

// Marks the feeds and fetches at `positions` as done: no other call may have them. Returns whether all are
// done.
bool bd_partial_run_state_take(bd_partial_run_state *p, const int *positions, int count);

#endif
