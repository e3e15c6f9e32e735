// How tensors leave and enter a graph: Send and Recv over the step's rendezvous, Arg and Retval over its call
// frame.
#include "base/alloc.h"
#include "ops/common/element.h"

// ---- Rendezvous keys ----

// The key outside of loops is made once; within a loop each frame and iteration has its own.
typedef struct edge_state {
    char *text;            // owned
    bd_rendezvous_key key; // over `text`
    bool client_terminated;
} edge_state;

static char *edge_text(const braid_op *node, uint64_t frame, int64_t iteration)
{
    return bd_rendezvous_key_format(
        bd_node_attr_string(node, "send_device"), (uint64_t)bd_node_attr_int(node, "send_device_incarnation"),
        bd_node_attr_string(node, "recv_device"), bd_node_attr_string(node, "tensor_name"), frame, iteration);
}

static braid_code edge_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    edge_state *s = state;
    s->text = edge_text(node, 0, 0);
    s->key = bd_rendezvous_key_of(s->text);
    s->client_terminated = bd_node_attr_bool(node, "client_terminated");
    s->key.is_for_client = s->client_terminated;
    return BRAID_OK;
}

static void edge_destroy(void *state)
{
    bd_free(((edge_state *)state)->text);
}

// The key of this execution; `*owned` is freed by the caller.
static bd_rendezvous_key edge_key(const bd_op_ctx *c, char **owned)
{
    const edge_state *s = c->state;
    *owned = NULL;
    if (c->frame_id == 0 && c->iteration == 0) return s->key;
    *owned = edge_text(c->node, c->frame_id, c->iteration);
    bd_rendezvous_key key = bd_rendezvous_key_of(*owned);
    key.is_for_client = s->client_terminated;
    return key;
}

static bool has_rendezvous(bd_op_ctx *c)
{
    if (c->step->rendezvous) return true;
    bd_op_fail(c, BRAID_INTERNAL, "%s '%s' runs in a step without a rendezvous", c->node->op_type,
               c->node->name);
    return false;
}

// ---- Send ----

// A fetched value must not change with the variable, so it is copied. Between devices of a step the memory of
// the variable itself is sent, and copied once, to the wire.
static bool send_live(bd_op_ctx *c, const bd_rendezvous_key *key, braid_status *st)
{
    const edge_state *s = c->state;
    const braid_tensor *t = bd_input(c, 0);
    bd_rendezvous *r = c->step->rendezvous;
    if (!s->client_terminated || !t->buffer || !t->buffer->is_variable)
        return r->ops->send(r, key, t, false, st) == BRAID_OK;
    braid_tensor copy = {0};
    if (!bd_tensor_snapshot(&copy, t)) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the variable that is fetched");
        return false;
    }
    bool ok = r->ops->send(r, key, &copy, false, st) == BRAID_OK;
    bd_tensor_fini(&copy);
    return ok;
}

static void send_run(bd_op_ctx *c)
{
    if (!has_rendezvous(c)) return;
    BD_STATUS(st);
    char *owned;
    bd_rendezvous_key key = edge_key(c, &owned);
    bool ok;
    if (c->is_input_dead) {
        braid_tensor none = {0};
        ok = c->step->rendezvous->ops->send(c->step->rendezvous, &key, &none, true, st) == BRAID_OK;
    } else {
        ok = send_live(c, &key, st);
    }
    bd_free(owned);
    if (!ok) bd_op_fail_status(c, st);
}

#define EDGE_ATTRS                                                                                           \
    "tensor_name:string; send_device:string; send_device_incarnation:int; recv_device:string; "              \
    "client_terminated:bool=false"
#define SEND_KERNELS                                                                                         \
    BD_KERNELS(                                                                                              \
        {.state_size = sizeof(edge_state), .create = edge_create, .destroy = edge_destroy, .run = send_run})

BD_OP(_Send) = {
    .signature = "(tensor: T) -> ()",
    .attrs = "T:type; " EDGE_ATTRS,
    .role = BD_ROLE_SEND,
    .flags = BD_OP_STATEFUL,
    .kernels = SEND_KERNELS,
    .doc = "Hands a tensor to the Recv of the same name, perhaps on another device.",
};

BD_OP(_HostSend) = {
    .signature = "(tensor: T) -> ()",
    .attrs = "T:type; " EDGE_ATTRS,
    .role = BD_ROLE_SEND,
    .flags = BD_OP_STATEFUL,
    .kernels = SEND_KERNELS,
    .doc = "Send from host memory.",
};

// ---- Recv ----

static void recv_done(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    bd_op_ctx *c = arg;
    if (st->code) {
        bd_op_fail_status(c, st);
    } else if (is_dead) {
        c->is_output_dead = true;
    } else if (tensor->dtype != c->node->output_types[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s' expects a tensor of type %s but received %s",
                   c->node->op_type, c->node->name, braid_dtype_name(c->node->output_types[0]),
                   braid_dtype_name(tensor->dtype));
    } else {
        bd_output_set(c, 0, tensor);
    }
    bd_op_done(c);
}

static void recv_start(bd_op_ctx *c)
{
    if (!has_rendezvous(c)) {
        bd_op_done(c);
        return;
    }
    char *owned;
    bd_rendezvous *r = c->step->rendezvous;
    bd_rendezvous_key key = edge_key(c, &owned);
    r->ops->recv(r, &key, recv_done, c); // `c` may be gone when this returns
    bd_free(owned);
}

#define RECV_KERNELS                                                                                         \
    BD_KERNELS({.state_size = sizeof(edge_state),                                                            \
                .create = edge_create,                                                                       \
                .destroy = edge_destroy,                                                                     \
                .start = recv_start})

BD_OP(_Recv) = {
    .signature = "() -> (tensor: tensor_type)",
    .attrs = "tensor_type:type; " EDGE_ATTRS,
    .role = BD_ROLE_RECV,
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_none,
    .kernels = RECV_KERNELS,
    .doc = "Waits for the tensor of the Send of the same name.",
};

BD_OP(_HostRecv) = {
    .signature = "() -> (tensor: tensor_type)",
    .attrs = "tensor_type:type; " EDGE_ATTRS,
    .role = BD_ROLE_RECV,
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_none,
    .kernels = RECV_KERNELS,
    .doc = "Recv into host memory.",
};

// ---- Arg and Retval ----

typedef struct frame_state {
    int64_t index;
} frame_state;

static braid_code frame_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    ((frame_state *)state)->index = bd_node_attr_int(node, "index");
    return BRAID_OK;
}

// The index, when the step has a call frame with that many; else -1 and the kernel has failed.
static int64_t frame_index(bd_op_ctx *c, const char *what, int count)
{
    int64_t index = ((const frame_state *)c->state)->index;
    if (c->step->frame && index < count) return index;
    bd_op_fail(c, BRAID_INTERNAL, "%s '%s' wants %s %lld of %d", c->node->op_type, c->node->name, what,
               (long long)index, count);
    return -1;
}

static void arg_run(bd_op_ctx *c)
{
    int64_t i = frame_index(c, "argument", c->step->frame ? c->step->frame->arg_count : 0);
    if (i < 0) return;
    const braid_tensor *t = &c->step->frame->args[i];
    if (t->dtype != c->node->output_types[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Type mismatch: actual %s vs. expect %s",
                   braid_dtype_name(t->dtype), braid_dtype_name(c->node->output_types[0]));
        return;
    }
    bd_output_set(c, 0, t);
}

BD_OP(_Arg) = {
    .signature = "() -> (output: T)",
    .attrs = "T:type; index:int>=0",
    .role = BD_ROLE_ARG,
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.state_size = sizeof(frame_state), .create = frame_create, .run = arg_run}),
    .doc = "The value that the caller gave at position `index`.",
};

static void retval_run(bd_op_ctx *c)
{
    int64_t i = frame_index(c, "result", c->step->frame ? c->step->frame->ret_count : 0);
    if (i < 0) return;
    const braid_tensor *t = bd_input(c, 0);
    braid_tensor *to = &c->step->frame->rets[i];
    bd_tensor_fini(to);
    const bool shares = c->step->frame->shares_variables && braid_dtype_size(t->dtype) > 0;
    if (shares || !t->buffer || !t->buffer->is_variable) {
        bd_tensor_ref(to, t);
    } else if (!bd_tensor_snapshot(to, t)) { // later updates must not change the fetched value
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the variable that is fetched");
    }
}

BD_OP(_Retval) = {
    .signature = "(input: T) -> ()",
    .attrs = "T:type; index:int>=0",
    .role = BD_ROLE_RETVAL,
    .flags = BD_OP_STATEFUL,
    .kernels = BD_KERNELS({.state_size = sizeof(frame_state), .create = frame_create, .run = retval_run}),
    .doc = "Gives its input to the caller at position `index`.",
};
