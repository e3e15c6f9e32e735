// Turns of the calls of one connection. Only some are taken at a time, between their arrival and the return
// of their handler; the others wait in order. A client that makes thousands of calls at once keeps those of
// other connections waiting for these few only.
//
// A turn that lasts long, because the message of its call does not arrive, counts no more: it delays the
// calls behind it once.
#ifndef BD_CLUSTER_TURNS_H
#define BD_CLUSTER_TURNS_H

#include "base/thread.h"
#include <stdbool.h>

#define BD_TURNS_AT_ONCE 16
#define BD_TURN_MS 50 // a longer one does not count

// Of a call.
typedef struct bd_turn {
    struct bd_turn *next;
    unsigned round;
} bd_turn;

// Of a connection. Needs bd_turns_init.
typedef struct bd_turns {
    bd_mutex mu;
    // The rest is guarded by mu.
    unsigned round; // grows when those that have a turn stop counting
    int taken;      // of this round
    bool is_timed;  // bd_turns_late will be called
    bd_turn *first, **end;
} bd_turns;

void bd_turns_init(bd_turns *t);
void bd_turns_fini(bd_turns *t); // none waits

// True: it has the turn. False: it waits, and bd_turns_end or bd_turns_late returns it. Sets *time_it when
// bd_turns_late is to be called once, BD_TURN_MS from now.
bool bd_turns_take(bd_turns *t, bd_turn *turn, bool *time_it);
// A turn is over. Returns the next one, which has it from now on; NULL: none waits.
bd_turn *bd_turns_end(bd_turns *t, const bd_turn *turn);
// Those that have a turn count no more. Returns the list of those that have one now. Sets *time_it as above.
bd_turn *bd_turns_late(bd_turns *t, bool *time_it);

#endif
