// From a session's graph to the graph of one run signature: feeds and fetches put in, pruned, placed parts
// stay placed.
#ifndef BD_RUNTIME_CLIENT_GRAPH_H
#define BD_RUNTIME_CLIENT_GRAPH_H

#include "graph/graph.h"
#include "runtime/device.h"

struct Tensorflow__DebugOptions; // tensorflow/core/protobuf/debug.pb-c.h

// The feeds, fetches and targets of a run, by name: the key of the plan cache.
typedef struct bd_run_signature {
    const char *const *feeds; // "x:0" or "x"
    int feed_count;
    const char *const *fetches; // "loss:0" or "loss"
    int fetch_count;
    const char *const *targets; // "train"
    int target_count;
    bool is_partial;
    // TensorFlow's TensorConnection: in this run the consumers of output `connect_to` get output
    // `connect_from` instead.
    const char *const *connect_from, *const *connect_to;
    int connection_count;
    const struct Tensorflow__DebugOptions *debug; // what is watched (debug_nodes.h); NULL: nothing
} bd_run_signature;

// The maximum number of callables, and of partial runs, in a session; one more is ResourceExhausted.
#define BD_SESSION_HANDLES_MAX 65536

typedef enum bd_feed_style {
    BD_FEED_BY_CALL_FRAME, // _Arg and _Retval: position i of the signature
    BD_FEED_BY_RENDEZVOUS, // client-terminated _Recv and _Send, as TensorFlow's master does
} bd_feed_style;

// Where a feed or fetch ended up: for BD_FEED_BY_RENDEZVOUS the rendezvous key is made from these.
typedef struct bd_endpoint {
    const char *device; // assigned device of the node fed or fetched
    const char *tensor; // the edge name: "name:index"
    braid_dtype dtype;
} bd_endpoint;

typedef struct bd_client_graph {
    braid_graph graph;
    bd_endpoint *feeds, *fetches; // in the order of the signature; strings live in `graph`
    int feed_count, fetch_count;
} bd_client_graph;

// Makes the graph of one run signature from the placed graph `g` (which the caller keeps from changing).
// NotFound: "FeedInputs: unable to find feed output NAME", "FetchOutputs node NAME: not found",
// "PruneForTargets: Some target nodes not found: ..."; InvalidArgument: "Duplicated feeds", "NAME is both fed
// and fetched.", "Must specify at least one target to fetch or execute.", "Requested tensor connection from
// unknown node", "... would create a cycle". `client_device` is where nodes are that have no place.
braid_code bd_client_graph_build(const braid_graph *g, const bd_run_signature *signature, bd_feed_style style,
                                 const bd_device_info *client_device, bd_client_graph *out, braid_status *st);
void bd_client_graph_fini(bd_client_graph *p);

// Returns the rendezvous key of feed or fetch `e`, which worker and master compute alike (new memory). The
// device of the node is both source and destination, so that a worker, also TensorFlow's, treats it as a
// local tensor.
char *bd_endpoint_key(const bd_endpoint *e, uint64_t device_incarnation);

#endif
