// What the fragments of code in the guides use without a declaration of their own. They are only compiled.
#ifndef FRAGMENT_H
#define FRAGMENT_H

#include <braid/braid.h>
#include <braid/raw_ops.h>
#include <stdio.h>
#include <stdlib.h>

// ---- The task and its sessions ----

extern braid_cluster *cluster;
extern braid_server *server;
extern braid_session *session;
extern braid_monitored_session *monitored;
extern braid_status *status;
extern const char *job;
extern int task_index;
extern bool is_chief;

// ---- The model ----

extern braid_graph *graph;
extern braid_out x, y, loss, first_w, files, serialized, scores, k, batch, ids;
extern braid_variable w, b;
extern braid_op *train;
extern braid_optimizer *optimizer;
extern braid_tensor *images, *labels, *ages, *jobs, *paid;
extern const braid_feed *feeds;
extern int64_t step;

braid_out build_loss(braid_graph *graph, braid_out w);
braid_out replica_loss(const braid_replica *replica, void *arg);

#endif
