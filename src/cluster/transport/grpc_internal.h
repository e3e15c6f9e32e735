// Declarations shared by the files of the gRPC transport: the completion queue, its tags, and messages as
// byte buffers.
#ifndef BD_CLUSTER_GRPC_INTERNAL_H
#define BD_CLUSTER_GRPC_INTERNAL_H

#include "base/alloc.h"
#include "base/thread.h"
#include "base/tsan.h"
#include "cluster/transport/grpc_accept.h"
#include "cluster/transport/grpc_tls.h"
#include "cluster/transport/transport.h"
#include <grpc/grpc.h>

// A tag of a completion queue. `run` is called on a poll thread, once for each time that the tag was given to
// gRPC.
typedef struct bd_grpc_tag {
    void (*run)(struct bd_grpc_tag *tag, bool ok);
} bd_grpc_tag;

#define BD_GRPC_POLL_THREADS_MAX 8
#define BD_GRPC_HELPERS_MAX 4

// A thread that polls for a while.
typedef struct bd_grpc_helper {
    struct bd_grpc *transport;
    bd_thread thread;
    bool is_started; // and not joined; guarded by the transport's mu
    atomic_bool is_running;
} bd_grpc_helper;

typedef struct bd_grpc {
    bd_transport base;
    grpc_completion_queue *cq;
    bd_thread threads[BD_GRPC_POLL_THREADS_MAX];
    int thread_count;
    bd_grpc_helper helpers[BD_GRPC_HELPERS_MAX];
    bd_transport_limits limits; // of listeners
    const bd_users *users;      // see bd_grpc_transport_admit
    braid_role (*needed)(const char *method);
    bd_grpc_tls *tls; // NULL: none
    bd_mutex mu;
    bd_listener *listeners; // guarded by mu
    bd_channel *channels;   // guarded by mu
} bd_grpc;

// Starts a batch. The objects that `ops` point to must live until the tag runs. False only when the state of
// the call does not allow the batch.
bool bd_grpc_start(grpc_call *call, const grpc_op *ops, size_t count, bd_grpc_tag *tag);
// One more thread polls for a second, if there are not enough of these already. Any thread.
void bd_grpc_help(bd_grpc *g);
// Tells ThreadSanitizer that writes before the tag is given to gRPC happen before `run`. Part of
// bd_grpc_start.
void bd_grpc_tag_publish(bd_grpc_tag *tag);

// Metadata of a call and of its answer: its sender accepts frequent pings on the connection.
#define BD_GRPC_PINGS_KEY "braid-pings"
grpc_metadata bd_grpc_pings(void);
bool bd_grpc_has_pings(const grpc_metadata_array *a);

// Arguments of channels and servers.
const grpc_channel_args *bd_grpc_client_args(void);
const grpc_channel_args *bd_grpc_watching_args(void); // to servers of Braid
const grpc_channel_args *bd_grpc_replicas_args(void); // to a task of two processes: to the one that serves
const grpc_channel_args *bd_grpc_server_args(void);

// Enables TCP keepalive on a socket, and on the connections that it accepts when it listens.
void bd_grpc_keep_alive(int socket);

// Makes a byte buffer that references the slices of `m`, which is left empty.
grpc_byte_buffer *bd_grpc_from_message(bd_message *m);
// Makes `m` (empty) reference the slices of `buffer`, which is taken over.
void bd_grpc_to_message(grpc_byte_buffer *buffer, bd_message *m);

// bd_now_ns scale to gRPC's and back.
gpr_timespec bd_grpc_deadline(int64_t deadline_ns);
int64_t bd_grpc_deadline_ns(gpr_timespec deadline);

// A message short enough for HTTP/2's header limits, as a slice of the caller's. Cut between UTF-8
// characters.
grpc_slice bd_grpc_error_message(const char *text);

// grpc_client.c
bd_channel *bd_grpc_connect(bd_transport *t, const char *address);
void bd_grpc_channel_close(bd_channel *c);
bd_call *bd_grpc_call(bd_channel *c, const bd_call_options *options, bd_message *request,
                      bd_call_done_fn done, void *arg);
void bd_grpc_call_cancel(bd_call *call);
void bd_grpc_call_release(bd_call *call);
// Ends the calls in progress, and the connections, to servers whose certificate was revoked. With the
// transport's mu held.
void bd_grpc_end_revoked_channels_locked(bd_grpc *g);

// grpc_server.c
braid_code bd_grpc_listen(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                          bd_listener **out, char **bound, braid_status *st);
void bd_grpc_listener_close(bd_listener *l);
void bd_grpc_listener_stop(bd_listener *l, int64_t deadline_ns);
void bd_grpc_listener_free(bd_listener *l);
bool bd_grpc_is_connected(bd_transport *t, const char *peer);
// Ends the calls in progress whose caller's, or server's, certificate was revoked. `arg` is the bd_grpc.
void bd_grpc_end_revoked(void *arg);

// grpc_incoming.c
void bd_grpc_reply(bd_incoming *call, bd_message *response, const braid_status *st);
void bd_grpc_on_end(bd_incoming *call, bd_call_end_fn fn, void *arg);
char *bd_grpc_peer(const bd_incoming *call);
void bd_grpc_caller(const bd_incoming *call, bd_caller *out);
bd_callers *bd_grpc_callers(const bd_incoming *call);
void bd_grpc_send(bd_incoming *call, bd_message *message, void (*sent)(void *arg), void *arg);
void bd_grpc_receive(bd_incoming *call, void (*received)(void *arg, bd_message *message), void *arg);

// Returns gRPC's name for the address of a task (bd_free). Looks up the hosts of a task of two processes,
// which may block. grpc_target.c.
char *bd_grpc_target(const char *address);

#endif
