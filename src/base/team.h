// The threads that may share one loop. Numeric loops take a team from their caller, which knows the pool
// (op/parallel_for.c).
#ifndef BD_BASE_TEAM_H
#define BD_BASE_TEAM_H

#include <stdint.h>

typedef struct bd_team {
    int64_t threads; // at least 1
    // Calls fn(arg, i) once for each i below `count`, at most `threads`, on this thread and others, and
    // returns when all have ended. The calls need not run at the same time: one may begin when another has
    // ended. Where the loop is interrupted (base/interrupt.h), calls that have not begun are left out.
    void (*share)(const struct bd_team *team, int64_t count, void (*fn)(void *arg, int64_t i), void *arg);
} bd_team;

#endif
