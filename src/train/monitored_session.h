// The functions of a monitored session that hooks of this module use beyond its public interface.
#ifndef BD_TRAIN_MONITORED_SESSION_H
#define BD_TRAIN_MONITORED_SESSION_H

#include "base/status.h"
#include <braid/monitored_session.h>

// Reads the global step now, in a run of its own, for braid_monitored_session_global_step. No effect without
// a global step.
braid_code train_read_global_step(braid_monitored_session *s, braid_status *st);

#endif
