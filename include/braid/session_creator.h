// Session creators: how a monitored session makes its sessions, at first and after each loss
// (tf.train.SessionCreator).
//
// A monitored session takes the creator of the chief or that of the other workers, as is_chief says. A
// program gives braid_session_config.creator one of its own to do something else, or to do something before
// or after one of these:
//
//     typedef struct warm_creator {
//         braid_session_creator creator, *inner;
//     } warm_creator;
//     static braid_session *create(braid_session_creator *c, braid_graph *g, braid_session_request *r,
//                                  braid_status *st)
//     {
//         braid_session_creator *inner = ((warm_creator *)c)->inner;
//         braid_session *s = inner->create_session(inner, g, r, st);
//         ... fill a cache by braid_session_run(s, ...) ...
//         return s;
//     }
#ifndef BRAID_SESSION_CREATOR_H
#define BRAID_SESSION_CREATOR_H

#include <braid/session_manager.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_session_creator braid_session_creator;
/// What a monitored session asks of its creator, for the built-in creators. A creator that calls another one
/// passes it on.
typedef struct braid_session_request braid_session_request;

/// Embed it as the first member of a struct. `begin` and `free` may be NULL.
struct braid_session_creator {
    /// Whether its sessions are the chief's: hooks of the chief are called in them. Constant.
    bool is_chief;
    /// Adds the nodes that its sessions need to the graph, once, after the hooks have added theirs. Errors
    /// are the graph's.
    void (*begin)(braid_session_creator *creator, braid_graph *graph);
    /// Opens a session whose variables have values; it is the caller's. Called again after a session was
    /// lost, by the thread that trains; it may block. NULL on an error, which is described in `status`;
    /// another session may help against Aborted and Unavailable (see monitored_session.h).
    braid_session *(*create_session)(braid_session_creator *creator, braid_graph *graph,
                                     braid_session_request *request, braid_status *status);
    /// Frees the creator. Called once, last.
    void (*free)(braid_session_creator *creator);
};

/// The creator of the chief: its sessions initialize or restore the variables, as braid_prepare_session
/// (ChiefSessionCreator). `how` is copied; NULL: all defaults. The scaffold's feeds, saver and init_arg live
/// as long as the creator.
BRAID_API braid_session_creator *braid_chief_session_creator(const braid_session_manager *how);

/// The creator of the other workers: its sessions wait for the chief, as braid_wait_for_session
/// (WorkerSessionCreator).
BRAID_API braid_session_creator *braid_worker_session_creator(const braid_session_manager *how);

#ifdef __cplusplus
}
#endif
#endif
