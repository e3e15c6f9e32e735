// The tasks of a cluster as a server sees them: names, addresses, and a channel to each.
#ifndef BD_CLUSTER_RPC_PEERS_H
#define BD_CLUSTER_RPC_PEERS_H

#include "base/map.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "cluster/rpc/cross_memory.h"
#include "cluster/rpc/mpi_engine.h"
#include "cluster/rpc/rpc.h"
#include "cluster/rpc/worker_interface.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/transport.h"
#include "tensor/tensor.h"

// Bytes of tensors that steps of this task have sent to other tasks, and received; of these, what was read
// from the memory of the sender, and what MPI has brought.
typedef struct bd_traffic {
    _Atomic uint64_t sent_bytes, received_bytes, memory_bytes, mpi_bytes;
} bd_traffic;

typedef struct bd_peer {
    const char *job; // owned by the cluster
    int index;
    const char *address; // owned by the cluster
    char *task;          // "/job:ps/replica:0/task:1"
    char *label;         // "/job:ps/task:1 at 127.0.0.1:2222", as messages name it
    bool is_self;
    bd_transport *transport; // not owned
    bd_channel *channel;     // NULL for the server's own task, which is never called over the network
    bd_rpc_count *calls;     // of the server
    bd_rpc_count *fetches;   // of the server
    bd_traffic *traffic;     // of the server, with all of them
    atomic_bool *is_reached; // owned; see bd_peer_start
    atomic_int *window; // owned; chunks in flight at the end of the last fetch, 0: none (chunk_receiver.c)
    bool is_of_session; // see bd_peers_of_session
    bd_timers *timers;  // of the server
    // Set by bd_peers_share_memory; NULL: tensors come over the connection.
    bd_cross_memory *memory; // owned
    bd_thread_pool *copies;  // not owned; reads tensors that take long
    bd_mpi *mpi;             // not owned; NULL: the tasks are not ranks of one world
    bd_worker *worker;       // not owned; the server sets it after bd_peers_init: see bd_remote_workers_new
} bd_peer;

// Immutable once the workers are set; read by any thread.
typedef struct bd_peers {
    bd_peer *items; // by job, then index
    int count;
    bd_peer *self;
    bd_map by_task;
    bd_rpc_count calls;   // in progress, to any of them
    bd_rpc_count fetches; // of several calls each; no execution waits for them; cancelled before the close
    bd_traffic *traffic;
} bd_peers;

// Channels connect when they are first used. `cluster` and `transport` outlive it.
void bd_peers_init(bd_peers *p, const braid_cluster *cluster, const char *job, int index,
                   bd_transport *transport, bd_timers *timers);
// Tensors of peers on this host are read from their memory, where that is not turned off, and large ones on
// the pool. Before the first call.
void bd_peers_share_memory(bd_peers *p, bd_thread_pool *pool);
// They are the tasks of a cluster that a session names, which other servers may know by other names. Their
// tensors count with those of `server`. Before the first call.
void bd_peers_of_session(bd_peers *p, const bd_peers *server);
// The tasks are the ranks of a world, between which the engine moves large tensors; it outlives the calls.
void bd_peers_use_mpi(bd_peers *p, bd_mpi *mpi);
// Count a tensor; a dead one has no bytes.
static inline void bd_peer_count_sent(const bd_peer *peer, const braid_tensor *tensor)
{
    if (bd_tensor_is_set(tensor))
        atomic_fetch_add_explicit(&peer->traffic->sent_bytes, bd_tensor_bytes(tensor), memory_order_relaxed);
}
static inline void bd_peer_count_received(const bd_peer *peer, const braid_tensor *tensor)
{
    if (bd_tensor_is_set(tensor))
        atomic_fetch_add_explicit(&peer->traffic->received_bytes, bd_tensor_bytes(tensor),
                                  memory_order_relaxed);
}

// Ends calls in progress with Cancelled and waits for their callbacks. A call that is started later ends with
// Cancelled at once.
void bd_peers_close(bd_peers *p);
void bd_peers_fini(bd_peers *p); // after close

// The options of a call to a peer, without a deadline and a token. A call of Liveness is held open to watch
// the peer.
bd_rpc_options bd_peer_rpc(const bd_peer *peer, const char *method);

// Starts a call that carries a tensor of a step, as bd_rpc_start does. The first one to a peer waits until
// the peer has answered a GetStatus, for 5 s at most; so does the first one after a call ended with
// Unavailable. The master has found the peer, but this task may have called it while it was not there, and
// gRPC then waits before it connects again.
void bd_peer_start(const bd_peer *peer, const bd_rpc_options *options, bd_message *request,
                   bd_call_done_fn fn, void *arg);

// Sets `st` to the error of a call of `method` (its name without the service): names a peer that cannot be
// reached. An error that is the consequence of another one keeps its own words, since its cause is not this
// peer.
void bd_peer_explain(const bd_peer *peer, const char *method, const braid_status *from, braid_status *st);

// Finds the peer by the task at the start of a device or task name; NULL: not found.
const bd_peer *bd_peers_of_device(const bd_peers *p, const char *device, size_t len);

// How many bytes of a device name are its task: "/job:J/replica:0/task:N".
size_t bd_task_name_len(const char *device, size_t len);

#endif
