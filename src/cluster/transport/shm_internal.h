// Declarations shared by the files of the shared-memory transport: its structures.
//
// Locks, in the order in which they are taken: those of a link's pipe, a channel's, the transport's, a
// listener's, a link's. Callbacks run without any.
#ifndef BD_CLUSTER_SHM_INTERNAL_H
#define BD_CLUSTER_SHM_INTERNAL_H

#include "base/array.h"
#include "base/map.h"
#include "base/progress.h"
#include "base/timer.h"
#include "cluster/transport/connection.h"
#include "cluster/transport/shm.h"
#include "cluster/transport/shm_pipe.h"
#include "tensor/shared_memory.h"

// The transport answers it itself.
#define BD_SHM_OPEN_METHOD "/braid.ClusterService/OpenSharedMemory"
#define BD_SHM_HOLD_METHOD "/braid.ClusterService/HoldSharedMemory"
#define BD_SHM_TOKEN_BYTES 16
#define BD_SHM_NAME_BYTES 32 // of the local socket: hexadecimal digits
#define BD_SHM_READERS_MAX 4

typedef struct bd_shm bd_shm;

// What the ends of a link have told each other over the base transport, and show each other at the socket.
typedef struct bd_shm_secrets {
    uint8_t token[BD_SHM_TOKEN_BYTES];  // by the client
    uint8_t answer[BD_SHM_TOKEN_BYTES]; // by the server
    pid_t process;                      // at the other end
} bd_shm_secrets;

typedef enum bd_shm_state {
    BD_SHM_HELLO, // the ends exchange memory
    BD_SHM_UP,
    BD_SHM_ENDED
} bd_shm_state;

typedef struct bd_shm_link {
    bd_shm *shm; // not owned
    atomic_int refs;
    atomic_int state;
    uint64_t number;         // in this process
    int socket;              // its end tells that the other process has ended
    bd_peer_memory *tensors; // of the other process; NULL: not mapped
    bd_shm_secrets secrets;  // the server's end: after the hello
    int64_t start_ns;        // of its state; the watcher alone
    bd_shm_pipe pipe;
    bd_mutex mu;
    bd_imap calls; // of the client: bd_call; of the server: bd_shm_incoming; by id; guarded by mu
    uint64_t last_id;
    // The call that holds the link; NULL: it has not begun, or has ended. Guarded by mu.
    bd_call *holding;         // the client's end
    bd_incoming *held;        // the server's end
    atomic_bool is_held;      // once it was
    atomic_bool hold_refused; // the server is not to be asked again at once

    bd_channel *channel;       // the client's end: a reference; NULL: the server's end
    bd_listener *listener;     // the server's end: not owned; NULL before the hello; guarded by the
    bd_connection *connection; // transport's mu until it is set
} bd_shm_link;

typedef BD_ARRAY(bd_shm_link *) bd_shm_links;

// A client that was told where to connect, and has not done it yet.
typedef struct bd_shm_guest {
    bd_shm_secrets secrets;
    bd_listener *listener;
    bd_caller caller;
    bd_callers *callers; // among which it counts; the base's
    int64_t told_ns;     // when
} bd_shm_guest;

struct bd_shm {
    bd_transport own;
    bd_transport *base;
    bd_transport_limits limits;
    bd_mutex mu;
    // Guarded by mu:
    bd_shm_links links; // that have not ended
    BD_ARRAY(bd_shm_guest) guests;
    bd_call *ended, **last_ended; // calls whose `done` is to run
    uint64_t last_number;
    char name[BD_SHM_NAME_BYTES + 1]; // of a server's socket

    bd_mutex begin_mu;
    bool has_begun;       // guarded by begin_mu
    braid_status failure; // of the beginning; guarded by begin_mu
    // Constant once it has begun (`socket`: once it is open):
    bd_shm_bell *bell; // of this process
    int bell_fd;
    bd_timers *timers;
    int poll, wake;    // of the watcher: what it polls, and an event that wakes it
    atomic_int socket; // of a server: where clients connect; -1: nowhere yet; set under mu
    bd_thread watcher, readers[BD_SHM_READERS_MAX];
    int reader_count;
    bool has_watcher, has_progress;
    bd_progress progress;
    // Any thread, but for what is said:
    bool accepts_later;        // there was no descriptor for a connection; the watcher alone
    atomic_int polling;        // threads that are no readers, and poll
    _Atomic int64_t polled_ns; // when the last of them had what it waited for; 0: it did not come
    atomic_bool is_resting;    // a reader looks after a moment
    atomic_int sleeping;       // readers
    atomic_bool is_ending;
};

struct bd_listener {
    bd_shm *shm;
    bd_listener *base;
    bd_handler_fn handler;
    void *arg;
    bd_mutex mu;
    bd_cond changed;
    int live;       // incoming calls; guarded by mu
    int links;      // that are not freed; guarded by mu
    bool is_closed; // guarded by mu
};

// ---- The transport: shm.c ----

// Starts the threads and what they need, once. ResourceExhausted when the system does not give it; the next
// calls fail in the same way.
braid_code bd_shm_begin(bd_shm *shm, braid_status *st);

// ---- Links: shm_link.c ----

// A link in the state of hello, with a reference for the caller. Takes over the socket and the reference
// to the channel. Both NULL: this is the server's end.
bd_shm_link *bd_shm_link_new(bd_shm *shm, int socket, bd_channel *channel, const bd_shm_secrets *secrets);
void bd_shm_link_ref(bd_shm_link *l);
void bd_shm_link_unref(bd_shm_link *l);
// Ends its calls: those of a client with Unavailable. Any number of times, any thread, without locks.
void bd_shm_link_end(bd_shm_link *l, const char *why);
void bd_shm_link_send(bd_shm_link *l, bd_shm_header *header, const char *head, bd_message *body);
// Reads and handles what has arrived, up to one frame. Returns whether there was something to do.
bool bd_shm_link_serve(bd_shm_link *l);
// The same with all frames that have arrived.
void bd_shm_link_drain(bd_shm_link *l);
// With a reference; NULL: it has ended.
bd_shm_link *bd_shm_link_find(bd_shm *shm, uint64_t number);

// ---- The watcher: shm_watch.c ----

// Connects a channel to the socket that a server has named; the watcher's thread finishes it. Takes over
// the reference to the channel.
void bd_shm_connect(bd_shm *shm, bd_channel *c, const char *name, const bd_shm_secrets *secrets);
// The process at the other end of a socket, as the kernel knows it. 0: it is not of this process's user.
pid_t bd_shm_process_of(int socket);
// Opens the socket where clients connect, if it is not open.
braid_code bd_shm_open_socket_locked(bd_shm *shm, braid_status *st);
// Starts the thread.
braid_code bd_shm_watch_start(bd_shm *shm, braid_status *st);
void bd_shm_wake_watcher(const bd_shm *shm);

// ---- The call that holds a link: shm_hold.c ----

// The client begins it over the base. With the channel's mu held.
void bd_shm_hold_begin_locked(bd_shm_link *l, bd_channel *base);
// It has arrived at the server.
void bd_shm_hold_arrived(bd_listener *l, bd_incoming *call);
// The link has ended, or has not begun to be held.
void bd_shm_hold_end(bd_shm_link *l);

// ---- Calls of clients: shm_client.c ----

// Waits until calls go over a link; false: they do not by then. For tests.
bool bd_shm_channel_await_up(bd_channel *c, int64_t deadline_ns);
bd_channel *bd_shm_channel_new(bd_transport *t, const char *address);
void bd_shm_channel_close(bd_channel *c);
void bd_shm_channel_unref(bd_channel *c);
void bd_shm_channel_up(bd_channel *c, bd_shm_link *l); // the link can be used
void bd_shm_channel_down(bd_channel *c, bd_shm_link *l);
bd_call *bd_shm_call(bd_channel *c, const bd_call_options *options, bd_message *request, bd_call_done_fn done,
                     void *arg);
void bd_shm_call_cancel(bd_call *call);
void bd_shm_call_release(bd_call *call);
// Ends a call that is in no table any more; its `done` runs on the watcher's thread.
void bd_shm_end_call(bd_shm *shm, bd_call *call, braid_code code, const char *why);
void bd_shm_run_ended_calls(bd_shm *shm);                                // the watcher
void bd_shm_calls_end(bd_shm_link *l, braid_code code, const char *why); // all calls of a link
// A response has arrived: takes the call out of the table (NULL: it has ended), to be ended with it.
bd_call *bd_shm_call_answered(bd_shm_link *l, uint64_t id);
void bd_shm_call_end(bd_call *call, bd_shm_frame *response);

// ---- Calls to servers: shm_server.c ----

struct bd_shm_incoming;
braid_code bd_shm_listen(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                         bd_listener **out, char **bound, braid_status *st);
void bd_shm_listener_close(bd_listener *l);
void bd_shm_listener_stop(bd_listener *l, int64_t deadline_ns);
void bd_shm_listener_free(bd_listener *l);
// Makes the link one of the listener that gave its client the token. False: it is no such token, or this is
// another process.
bool bd_shm_admit_guest(bd_shm_link *l, const uint8_t token[BD_SHM_TOKEN_BYTES]);
void bd_shm_leave_listener(bd_shm_link *l); // when it is freed
// Notes a request, in the order of arrival; bd_shm_request_handle passes it to the handler. NULL: it is
// refused if `st` is filled (bd_shm_refuse, without locks), else dropped.
struct bd_shm_incoming *bd_shm_request(bd_shm_link *l, bd_shm_frame *f, braid_status *st);
void bd_shm_refuse(bd_shm_link *l, uint64_t id, const braid_status *st);
void bd_shm_request_handle(struct bd_shm_incoming *in);
// Takes a cancelled call out of the table (NULL: it has ended), to be ended.
struct bd_shm_incoming *bd_shm_request_cancelled(bd_shm_link *l, uint64_t id);
void bd_shm_request_end(struct bd_shm_incoming *in);
void bd_shm_requests_lost(bd_shm_link *l);
void bd_shm_reply(bd_incoming *call, bd_message *response, const braid_status *st);
void bd_shm_on_end(bd_incoming *call, bd_call_end_fn fn, void *arg);
char *bd_shm_peer(const bd_incoming *call);
void bd_shm_caller(const bd_incoming *call, bd_caller *out);
bool bd_shm_is_connected(bd_transport *t, const char *peer);

#endif
