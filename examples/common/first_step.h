// A hook that says how long a program took from its start to its first training step.
#ifndef FIRST_STEP_H
#define FIRST_STEP_H

#include <braid/monitored_session.h>

// Writes "first step after 0.21 s" to stderr after the first step.
braid_hook *first_step_hook(void);

#endif
