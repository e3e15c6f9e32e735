// Training on a cluster: its servers, a directory of checkpoints, and the sessions of its workers.
#ifndef BD_TESTS_CLUSTER_TRAINING_H
#define BD_TESTS_CLUSTER_TRAINING_H

#include "test_cluster.h"

typedef struct test_training {
    test_cluster *cluster;
    char *dir; // of checkpoints
} test_training;

// None of the servers is started.
test_training *test_training_new(test_network network, int ps, int workers);
void test_training_free(test_training *t);

// The session of worker `index`, whose server is given, on the parameter servers. Worker 0 is the chief.
braid_session_config test_worker_config(braid_server *server, int index, const char *checkpoint_dir);

// Closes the session, which must have ended with `code`, and frees its graph.
void test_worker_close(braid_monitored_session *s, braid_graph *g, braid_code code);

#endif
