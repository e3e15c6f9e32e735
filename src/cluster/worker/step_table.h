// The steps of a task: which rendezvous belongs to which step, before, while and after its graph runs here.
#ifndef BD_CLUSTER_WORKER_STEP_TABLE_H
#define BD_CLUSTER_WORKER_STEP_TABLE_H

#include "base/timer.h"
#include "cluster/rpc/peers.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "op/rendezvous.h"

typedef struct bd_step_table bd_step_table;

// All RunGraphs of a step are sent at the same time: one that is later by this does not arrive.
#define BD_STEP_EARLY_NS ((int64_t)60000000000)

// `peers` and `timers` outlive it. A step that has not begun `early_limit_ns` after another task asked for a
// tensor of it, or pushed one, is over, unless a member of a collective waits for it.
bd_step_table *bd_step_table_new(const bd_peers *peers, bd_timers *timers, int64_t early_limit_ns);
// After bd_step_table_close, when no other call is in progress.
void bd_step_table_free(bd_step_table *s);

// A graph of the step is about to run: *rendezvous is the step's, *cancellation is cancelled when the step is
// cleaned up while the graph runs; both are references. `session` identifies the session, for
// bd_step_table_forget; `peers` are the tasks of its cluster. Aborted when the step is over. InvalidArgument
// when it began with other peers.
braid_code bd_step_table_begin(bd_step_table *s, int64_t step_id, const void *session, const bd_peers *peers,
                               bd_rendezvous **rendezvous, bd_cancellation **cancellation, braid_status *st);
// The graph has run; call it once for each begin. After a success the step ends by itself when the tensors
// that were sent here have been received.
void bd_step_table_end(bd_step_table *s, int64_t step_id, bool succeeded);

// Another task asks for a tensor: before the step starts here (the call waits, within limits), while it runs,
// or until it is cleaned up. Aborted when the step is over. Otherwise as bd_rendezvous_ops.recv.
void bd_step_table_recv(bd_step_table *s, int64_t step_id, const bd_rendezvous_key *key, bd_recv_fn fn,
                        void *arg);

// Another task pushes a tensor (`answer`, read from its message), before the step begins here or while it
// runs. `peer` is the task. *is_refused is set when there is no room for it before the step begins: the
// sender then keeps it for RecvTensor. is_refused NULL: the tensor is taken in any case, since its sender
// does not keep it. A tensor that arrives after the step has run is dropped. Aborted when the step is over;
// ResourceExhausted when there is no room even for the note that the tensor was refused.
braid_code bd_step_table_push(bd_step_table *s, int64_t step_id, const bd_peer *peer,
                              const bd_rendezvous_key *key, bd_recv_tensor_response *answer, bool *is_refused,
                              braid_status *st);

// Ends the step: cancels its executions, aborts its waiting receivers, frees the tensors that were not
// received.
void bd_step_table_cleanup(bd_step_table *s, int64_t step_id);

// The session is gone: ends its steps that have begun, as bd_step_table_cleanup does.
void bd_step_table_forget(bd_step_table *s, const void *session);

// Aborts all steps, including future ones, with `why`.
void bd_step_table_close(bd_step_table *s, const braid_status *why);

#endif
