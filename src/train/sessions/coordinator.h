// What a monitored session needs of its coordinator beside the public functions.
#ifndef BD_TRAIN_COORDINATOR_H
#define BD_TRAIN_COORDINATOR_H

#include <braid/coordinator.h>

// Called once for each request of a stop, with its error (BRAID_OK: none), by the thread that makes the
// request, with no lock held. Set it before the first thread is started.
typedef void train_stop_fn(void *arg, const braid_status *why);
void train_coordinator_on_stop(braid_coordinator *c, train_stop_fn *fn, void *arg);

#endif
