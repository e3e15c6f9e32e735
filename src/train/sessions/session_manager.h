// Session managers, as monitored sessions' creators use them.
#ifndef BD_TRAIN_SESSION_MANAGER_H
#define BD_TRAIN_SESSION_MANAGER_H

#include "train/sessions/bootstrap.h"
#include <braid/session_manager.h>

// Adds the nodes of the manager's sessions to the graph; a second call has no effect.
void train_session_manager_finalize(braid_session_manager *m, braid_graph *g);

// Sets what a bootstrap takes from the manager; its role and what it remembers stay.
braid_code train_session_manager_bootstrap(const braid_session_manager *m, train_bootstrap *b,
                                           braid_status *st);

// Returns a session that was brought up, or closes it after an error and returns NULL.
braid_session *train_session_if_ok(braid_session *s, const braid_status *st);

#endif
