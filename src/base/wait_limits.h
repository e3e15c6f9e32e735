// How long a task waits for other tasks, from the environment of the process.
#ifndef BD_BASE_WAIT_LIMITS_H
#define BD_BASE_WAIT_LIMITS_H

#include "base/status.h"
#include <stdint.h>

#define BD_GRACE_VARIABLE "BRAID_GRACE_SECONDS"
#define BD_START_TIMEOUT_VARIABLE "BRAID_START_TIMEOUT_SECONDS"

// The grace time: how long a lost task may stay away before it is gone for good. A minute unless
// BRAID_GRACE_SECONDS gives another positive number. InvalidArgument for a malformed one.
braid_code bd_grace_ms(int64_t *ms, braid_status *st);

// How long a starting task waits for tasks that have not been seen yet. Two hours, as TensorFlow's
// wait_for_session, unless BRAID_START_TIMEOUT_SECONDS gives another positive number.
braid_code bd_start_timeout_ms(int64_t *ms, braid_status *st);

#endif
