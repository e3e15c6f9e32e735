// Calls of functions on devices of other tasks.
//
// A function is registered on the other task as a graph (RegisterGraph), as TensorFlow's workers do: a _Recv
// from the client for each argument, a node that calls the function, and a _Send to the client for each
// result. A call is one RunGraph of it: arguments are its sends, results its receives. Any worker, also
// TensorFlow's, can be called in this way.
//
//   new         the function is not known yet: its graph is made and registered for this call, with its token
//   registered  the graph is kept for later calls; of two calls that register at the same time, one keeps
//               its graph, the other one frees its own and uses that
//   running     RunGraph, in a step with an id of its own: the master of the caller's step does not know that
//               the task takes part, so that the step ends there by itself, or is cancelled by the call
//
// Registered graphs stay until the session ends, as in TensorFlow: the session has one for each function and
// device. The other task then frees them with its own part of the session.
#include "cluster/worker/remote_functions.h"
#include "base/alloc.h"
#include "base/fingerprint.h"
#include "base/random.h"
#include "base/slab.h"
#include "base/thread.h"
#include <inttypes.h>
#include <string.h>

typedef struct remote_functions {
    bd_remote_functions base;
    char *session_handle;
    const bd_peers *peers;
    bd_session_cluster *cluster; // a reference; NULL
    bd_mutex mu;
    bd_map registered; // function and device -> remote_function; guarded by mu
} remote_functions;

// A function on a device of another task. It does not change once it is registered.
typedef struct remote_function {
    const bd_peer *peer;
    const char *name, *device;
    bd_bytes key;     // in `registered`
    const char *node; // that calls the function
    const braid_dtype *arg_types, *ret_types;
    int arg_count, ret_count;
    const char **send_keys, **recv_keys; // [arg_count], [ret_count]
    char *graph_handle;                  // NULL before it is registered
    bd_arena arena;
} remote_function;

typedef struct remote_call {
    remote_functions *all;     // a reference
    remote_function *function; // the call's own until it is registered
    bd_cancellation *cancellation;
    int call_depth;
    bd_function_done_fn done;
    void *arg;
    bd_run_graph run;
    bd_run_graph_send *sends;
    braid_tensor values[]; // arguments, then results
} remote_call;

// The incarnation in the keys of arguments and results, which the client sends and receives.
#define CLIENT_INCARNATION 1

// An error of functions that call each other names some of the calls.
#define NAMED_IN_MAX 4096

static remote_functions *of(bd_remote_functions *r)
{
    return BD_CONTAINER_OF(r, remote_functions, base);
}

static void function_free(remote_function *f)
{
    bd_free(f->graph_handle);
    bd_arena_fini(&f->arena);
    bd_free(f);
}

// ---- The graph of a function ----

static bd_named_attr string_attr(const char *name, const char *value)
{
    return (bd_named_attr){
        .name = name, .value = {.kind = BD_ATTR_STRING, .s = {.data = (char *)value, .len = strlen(value)}}};
}

// Adds the _Recv of an argument, or the _Send of `from`.
static braid_code add_end(braid_graph *g, const remote_function *f, const char *edge, braid_dtype type,
                          const braid_out *from, braid_op **node, braid_status *st)
{
    const bd_named_attr attrs[] = {
        {.name = from ? "T" : "tensor_type", .value = {.kind = BD_ATTR_TYPE, .type = bd_dtype_base(type)}},
        string_attr("tensor_name", edge),
        string_attr("send_device", f->device),
        {.name = "send_device_incarnation", .value = {.kind = BD_ATTR_INT, .i = CLIENT_INCARNATION}},
        string_attr("recv_device", f->device),
        {.name = "client_terminated", .value = {.kind = BD_ATTR_BOOL, .b = true}}};
    const bd_node_spec spec = {.name = edge,
                               .op_type = from ? "_Send" : "_Recv",
                               .device = f->device,
                               .assigned_device = f->device,
                               .inputs = from,
                               .input_count = from ? 1 : 0,
                               .attrs = attrs,
                               .attr_count = BD_COUNTOF(attrs)};
    return bd_graph_add(g, &spec, node, st);
}

// The name of argument or result `i`, which is also the name of its node.
static const char *end_name(remote_function *f, const char *kind, int i)
{
    return bd_arena_asprintf(&f->arena, "%s/%s_%d", f->node, kind, i);
}

static const char *key_of(remote_function *f, const char *edge)
{
    char *key = bd_rendezvous_key_format(f->device, CLIENT_INCARNATION, f->device, edge, 0, 0);
    const char *kept = bd_arena_strdup(&f->arena, key);
    bd_free(key);
    return kept;
}

static braid_code add_nodes(braid_graph *g, remote_function *f, const bd_func *func, braid_status *st)
{
    braid_code code = BRAID_OK;
    braid_op *node = NULL;
    braid_out *args = BD_ARENA_ARRAY(&f->arena, braid_out, (size_t)f->arg_count);
    for (int i = 0; !code && i < f->arg_count; i++) {
        const char *edge = end_name(f, "arg", i);
        f->send_keys[i] = key_of(f, edge);
        code = add_end(g, f, edge, f->arg_types[i], NULL, &node, st);
        args[i] = (braid_out){.op = node};
    }
    const bd_node_spec call = {.name = f->node,
                               .op_type = f->name,
                               .device = f->device,
                               .assigned_device = f->device,
                               .inputs = args,
                               .input_count = f->arg_count,
                               .attrs = func->attrs,
                               .attr_count = func->attr_count};
    braid_op *caller = NULL;
    if (!code) code = bd_graph_add(g, &call, &caller, st);
    for (int i = 0; !code && i < f->ret_count; i++) {
        const char *edge = end_name(f, "ret", i);
        f->recv_keys[i] = key_of(f, edge);
        const braid_out from = {.op = caller, .index = i};
        code = add_end(g, f, edge, f->ret_types[i], &from, &node, st);
    }
    return code;
}

static void set_signature(remote_function *f, const bd_function_body *body)
{
    f->arg_count = body->arg_count;
    f->ret_count = body->ret_count;
    f->arg_types = bd_arena_memdup(&f->arena, body->arg_types, (size_t)f->arg_count * sizeof *f->arg_types);
    f->ret_types = bd_arena_memdup(&f->arena, body->ret_types, (size_t)f->ret_count * sizeof *f->ret_types);
    f->send_keys = BD_ARENA_ARRAY(&f->arena, const char *, (size_t)f->arg_count);
    f->recv_keys = BD_ARENA_ARRAY(&f->arena, const char *, (size_t)f->ret_count);
}

// Makes the graph, which has the functions that `func` calls.
static braid_code make_graph(remote_function *f, bd_library *library, const bd_func *func, braid_graph *g,
                             braid_status *st)
{
    bd_function_body body;
    if (bd_function_instantiate(library, func, &body, st)) return st->code;
    set_signature(f, &body);
    bd_function_body_fini(&body);
    g->library = bd_library_ref(library);
    if (add_nodes(g, f, func, st)) return st->code;
    g->library = bd_library_reachable(library, g);
    bd_library_unref(library); // the graph's reference; the function's definition is in the new one, too
    return BRAID_OK;
}

// `key`: NameAttrList of the function, a zero, the device. NULL on an error.
static remote_function *function_new(const bd_peer *peer, const bd_bytes *key, const bd_remote_call *c,
                                     braid_graph *g, braid_status *st)
{
    bd_attr_tensors tensors = {0};
    bd_func func;
    remote_function *f = bd_calloc(1, sizeof *f);
    f->peer = peer;
    f->name = bd_arena_strdup(&f->arena, c->function->name);
    f->device = bd_arena_strdup(&f->arena, c->device);
    f->key = (bd_bytes){.data = bd_arena_memdup(&f->arena, key->data, key->len), .len = key->len};
    // The kernels of stateful nodes belong to the session by the names of the nodes, so that a name means the
    // same call in all graphs of the session.
    f->node =
        bd_arena_asprintf(&f->arena, "%s/_call_%016" PRIx64, f->name, bd_fingerprint64(key->data, key->len));
    if (!bd_func_parse(&c->function->key, &f->arena, &tensors, &func, st))
        make_graph(f, c->library, &func, g, st);
    for (size_t i = 0; i < tensors.len; i++)
        braid_tensor_free(tensors.items[i]);
    bd_array_free(&tensors);
    if (!st->code) return f;
    function_free(f);
    return NULL;
}

// ---- A call ----

static void end(remote_call *c, const braid_status *from)
{
    const remote_function *f = c->function;
    const int arg_count = f->arg_count, ret_count = f->ret_count;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (st->code && !st->derived && strlen(braid_status_message(st)) < NAMED_IN_MAX)
        bd_status_suffix(st, "\n\t In function %s on %s", f->name, f->device);
    for (int i = 0; i < arg_count; i++)
        bd_tensor_fini(&c->values[i]);
    c->done(c->arg, st->code ? NULL : c->values + arg_count, st->code ? 0 : ret_count, st);
    for (int i = 0; i < ret_count; i++)
        bd_tensor_fini(&c->values[arg_count + i]);
    if (f->graph_handle == NULL) function_free(c->function); // it was not registered, and is the call's own
    bd_cancellation_unref(c->cancellation);
    bd_slab_free(c->sends);
    remote_functions *all = c->all;
    bd_slab_free(c);
    bd_remote_functions_unref(&all->base);
}

static void ran(void *arg, const braid_status *st)
{
    end(arg, st);
}

static void run(remote_call *c)
{
    const remote_function *f = c->function;
    c->sends = bd_slab_alloc((size_t)f->arg_count * sizeof *c->sends + 1);
    for (int i = 0; i < f->arg_count; i++)
        c->sends[i] = (bd_run_graph_send){f->send_keys[i], &c->values[i]};
    c->run = (bd_run_graph){
        .session_handle = c->all->session_handle,
        .graph_handle = f->graph_handle,
        .step_id = (int64_t)(bd_random_u64() >> 2) + 1, // the upper two bits are 0, as in sessions' steps
        .call_depth = c->call_depth,
        .sends = c->sends,
        .send_count = f->arg_count,
        .recv_keys = f->recv_keys,
        .recvs = c->values + f->arg_count,
        .recv_count = f->ret_count,
    };
    f->peer->worker->ops->run_graph(f->peer->worker, &c->run, c->cancellation, ran, c);
}

static bool has_signature_of(const remote_function *a, const remote_function *b)
{
    return a->arg_count == b->arg_count && a->ret_count == b->ret_count &&
           memcmp(a->arg_types, b->arg_types, (size_t)a->arg_count * sizeof *a->arg_types) == 0 &&
           memcmp(a->ret_types, b->ret_types, (size_t)a->ret_count * sizeof *a->ret_types) == 0;
}

// Keeps the call's function for later calls, or replaces it by the one that another call has registered.
static braid_code keep(remote_call *c, const char *graph_handle, braid_status *st)
{
    remote_functions *all = c->all;
    remote_function *own = c->function;
    bd_mutex_lock(&all->mu);
    remote_function *there = bd_map_get_n(&all->registered, own->key.data, own->key.len);
    if (!there) {
        own->graph_handle = bd_strdup(graph_handle);
        bd_map_put_n(&all->registered, own->key.data, own->key.len, own);
    }
    bd_mutex_unlock(&all->mu);
    if (!there) return BRAID_OK;
    bd_worker *w = own->peer->worker;
    w->ops->deregister_graph(w, all->session_handle, graph_handle, NULL, NULL);
    if (!has_signature_of(own, there)) // the call's memory is for its own
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Function %s has other arguments or results in another graph of the session",
                       own->name);
    c->function = there;
    function_free(own);
    return BRAID_OK;
}

static void registered(void *arg, const char *graph_handle, const braid_status *from)
{
    remote_call *c = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code && !keep(c, graph_handle, st)) {
        run(c);
        return;
    }
    if (st->code == BRAID_ABORTED)
        bd_status_suffix(st, " A session whose device filters leave the task out is not on it either.");
    end(c, st);
}

static braid_code check_call(const remote_function *f, const bd_invocation *call, braid_status *st)
{
    if (call->step && call->step->call_depth >= BD_CALL_DEPTH_MAX)
        return bd_fail(
            st, BRAID_RESOURCE_EXHAUSTED,
            "Function %s is called from functions that call each other %d deep, which is the limit", f->name,
            BD_CALL_DEPTH_MAX);
    if (call->arg_count != f->arg_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expects %d arguments, but %d is provided: function %s",
                       f->arg_count, call->arg_count, f->name);
    for (int i = 0; i < f->arg_count; i++) {
        const braid_dtype wanted = bd_dtype_base(f->arg_types[i]), is = call->args[i].dtype;
        if (is != wanted)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Expects arg[%d] to be %s but %s is provided: function %s", i,
                           braid_dtype_name(wanted), braid_dtype_name(is), f->name);
    }
    return BRAID_OK;
}

static remote_call *call_new(remote_functions *all, remote_function *f, const bd_invocation *from)
{
    const size_t values = (size_t)f->arg_count + (size_t)f->ret_count;
    remote_call *c = bd_slab_alloc(sizeof *c + values * sizeof c->values[0]);
    *c = (remote_call){.all = all, .function = f, .done = from->done, .arg = from->arg};
    bd_remote_functions_ref(&all->base);
    c->call_depth = from->step ? from->step->call_depth + 1 : 1;
    c->cancellation = bd_cancellation_new(from->step ? from->step->cancellation : from->cancellation);
    for (size_t i = 0; i < values; i++)
        c->values[i] = (braid_tensor){0};
    for (int i = 0; i < f->arg_count; i++)
        bd_tensor_ref(&c->values[i], &from->args[i]);
    return c;
}

// The task of the device; NULL with an error.
static const bd_peer *find_peer(const remote_functions *all, const bd_remote_call *c, braid_status *st)
{
    const bd_peer *peer = bd_peers_of_device(all->peers, c->device, strlen(c->device));
    if (!peer)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Function %s is to run on %s, which is on no task of the cluster",
                c->function->name, c->device);
    else if (peer->is_self)
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "Function %s is to run on %s, which is no device of this task (%s)", c->function->name,
                c->device, peer->task);
    return st->code ? NULL : peer;
}

static void begin(remote_functions *all, const bd_peer *peer, const bd_bytes *key, const bd_remote_call *from,
                  braid_status *st)
{
    braid_graph graph;
    bd_mutex_lock(&all->mu);
    remote_function *f = bd_map_get_n(&all->registered, key->data, key->len);
    bd_mutex_unlock(&all->mu);
    const bool is_new = f == NULL;
    bd_graph_init(&graph);
    if (is_new) f = function_new(peer, key, from, &graph, st);
    if (f && check_call(f, from->call, st)) {
        if (is_new) function_free(f);
        f = NULL;
    }
    remote_call *c = f ? call_new(all, f, from->call) : NULL;
    bd_worker *w = peer->worker;
    if (c && is_new)
        w->ops->register_graph(w, all->session_handle, &graph, from->disabled_rewrites, NULL, c->cancellation,
                               registered, c);
    else if (c)
        run(c);
    bd_graph_fini(&graph);
}

static void call(bd_remote_functions *base, const bd_remote_call *from)
{
    remote_functions *all = of(base);
    BD_STATUS(st);
    const bd_peer *peer = find_peer(all, from, st);
    if (peer) {
        const size_t function_len = from->function->key.len, device_len = strlen(from->device);
        char *text = bd_slab_alloc_raw(function_len + 1 + device_len);
        memcpy(text, from->function->key.data, function_len);
        text[function_len] = '\0';
        memcpy(text + function_len + 1, from->device, device_len);
        const bd_bytes key = {.data = text, .len = function_len + 1 + device_len};
        begin(all, peer, &key, from, st);
        bd_slab_free(text);
    }
    if (st->code) from->call->done(from->call->arg, NULL, 0, st);
}

// ---- Beginning and end ----

static void destroy(bd_remote_functions *base)
{
    remote_functions *all = of(base);
    size_t pos = 0;
    void *f;
    while (bd_map_next(&all->registered, &pos, NULL, &f))
        function_free(f);
    bd_map_fini(&all->registered);
    bd_mutex_fini(&all->mu);
    bd_session_cluster_unref(all->cluster);
    bd_free(all->session_handle);
    bd_free(all);
}

bd_remote_functions *bd_remote_functions_new(const char *session_handle, const bd_peers *peers,
                                             bd_session_cluster *cluster)
{
    static const bd_remote_functions_ops ops = {.call = call, .destroy = destroy};
    remote_functions *all = bd_calloc(1, sizeof *all);
    all->base.ops = &ops;
    atomic_init(&all->base.refs, 1);
    all->session_handle = bd_strdup(session_handle);
    all->peers = peers;
    all->cluster = bd_session_cluster_ref(cluster);
    bd_mutex_init(&all->mu);
    return &all->base;
}
