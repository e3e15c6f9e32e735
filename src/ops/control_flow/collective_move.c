// Collectives that hand tensors on: CollectiveBcastSend, CollectiveBcastRecv, CollectiveGather.
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/control_flow/collective.h"

#define GROUP_ATTRS                                                                                          \
    "T:type{float,half,double,int32,int64}; group_size:int; group_key:int; instance_key:int; shape:shape; "  \
    "communication_hint:string='auto'; +timeout_seconds:float=0"
#define GROUP_KERNELS(START)                                                                                 \
    BD_KERNELS({.types = "T=float|double|half|int32|int64",                                                  \
                .state_size = sizeof(move_state),                                                            \
                .create = move_create,                                                                       \
                .start = (START)})

typedef struct move_state {
    bd_collective_state group;
    braid_shape shape; // attr
} move_state;

static braid_code move_create(const braid_op *node, void *state, braid_status *st)
{
    move_state *s = state;
    s->shape = bd_node_attr_shape(node, "shape");
    return bd_collective_state_read(node, &s->group, st);
}

braid_code bd_collective_compare(const braid_tensor *own, const braid_tensor *other, int rank,
                                 braid_status *st)
{
    if (other->dtype == own->dtype && bd_shape_equal(&own->shape, &other->shape)) return BRAID_OK;
    char mine[BD_SHAPE_STR_MAX], theirs[BD_SHAPE_STR_MAX];
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Members of the group disagree: member %d has given %s%s, and this one %s%s", rank,
                   braid_dtype_name(other->dtype), bd_shape_str(&other->shape, theirs),
                   braid_dtype_name(own->dtype), bd_shape_str(&own->shape, mine));
}

bool bd_collective_check_alike(bd_op_ctx *c, const braid_tensor *own, const braid_tensor *other, int rank)
{
    BD_STATUS(st);
    if (bd_collective_compare(own, other, rank, st)) bd_op_fail_status(c, st);
    return !st->code;
}

// ---- Broadcast ----

static void sent_done(bd_op_ctx *c, const bd_exchanged *x)
{
    bd_output_set(c, 0, &x->values[x->rank]);
}

static void bcast_send_start(bd_op_ctx *c)
{
    const move_state *s = c->state;
    if (!bd_shape_equal(&s->shape, &bd_input(c, 0)->shape)) {
        bd_op_fail(c, BRAID_INTERNAL, "Declared shape of op %s does not match shape of input", c->node->name);
        bd_op_done(c);
        return;
    }
    bd_collective_exchange(c, &(bd_exchange_options){.group = &s->group,
                                                     .type = BD_COLLECTIVE_BROADCAST,
                                                     .is_source = true,
                                                     .own = bd_input(c, 0),
                                                     .done = sent_done});
}

static void received_done(bd_op_ctx *c, const bd_exchanged *x)
{
    const move_state *s = c->state;
    for (int i = 0; i < x->size; i++) {
        const braid_tensor *t = &x->values[i];
        if (!bd_tensor_is_set(t)) continue;
        const braid_tensor declared = {.dtype = c->node->output_types[0], .shape = s->shape};
        if (bd_collective_check_alike(c, &declared, t, i)) bd_output_set(c, 0, t);
        return;
    }
}

static void bcast_recv_start(bd_op_ctx *c)
{
    const move_state *s = c->state;
    bd_collective_exchange(
        c,
        &(bd_exchange_options){.group = &s->group, .type = BD_COLLECTIVE_BROADCAST, .done = received_done});
}

BD_OP(CollectiveBcastSend) = {
    .signature = "(input: T) -> (data: T)",
    .attrs = GROUP_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_USES_RENDEZVOUS,
    .shape = bd_shape_fn_from_attr,
    .kernels = GROUP_KERNELS(bcast_send_start),
    .deviation = COLLECTIVE_DEVIATION,
    .doc = "Sends its input to all other members of a group, which receive it by CollectiveBcastRecv.",
};

BD_OP(CollectiveBcastRecv) = {
    .signature = "() -> (data: T)",
    .attrs = GROUP_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_USES_RENDEZVOUS,
    .shape = bd_shape_fn_from_attr,
    .kernels = GROUP_KERNELS(bcast_recv_start),
    .deviation = COLLECTIVE_DEVIATION,
    .doc = "Receives the input of the member of its group with CollectiveBcastSend.",
};

// ---- Gather ----

static void gather_done(bd_op_ctx *c, const bd_exchanged *x)
{
    const braid_tensor *own = &x->values[x->rank];
    for (int i = 0; i < x->size; i++)
        if (!bd_collective_check_alike(c, own, &x->values[i], i)) return;
    braid_shape shape = own->shape;
    if (__builtin_mul_overflow(shape.dims[0], x->size, &shape.dims[0])) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%d tensors of %lld rows are too many", x->size,
                   (long long)own->shape.dims[0]);
        return;
    }
    braid_tensor *y = bd_output(c, 0, own->dtype, &shape);
    for (int i = 0; y && i < x->size; i++)
        bd_elements_copy(y, i * bd_tensor_count(own), &x->values[i], 0, bd_tensor_count(own));
}

static void gather_start(bd_op_ctx *c)
{
    const move_state *s = c->state;
    if (bd_input(c, 0)->shape.rank < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "CollectiveGather: input should have rank > 0");
        bd_op_done(c);
        return;
    }
    bd_collective_exchange(
        c, &(bd_exchange_options){
               .group = &s->group, .type = BD_COLLECTIVE_GATHER, .own = bd_input(c, 0), .done = gather_done});
}

static braid_code gather_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *in = &c->inputs[0];
    if (in->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    c->outputs[0] = *in;
    const int64_t size = bd_node_attr_int(c->node, "group_size");
    int64_t rows;
    if (in->rank > 0 && in->dims[0] >= 0)
        c->outputs[0].dims[0] = size > 0 && !__builtin_mul_overflow(in->dims[0], size, &rows) ? rows : -1;
    return BRAID_OK;
}

BD_OP(CollectiveGather) = {
    .signature = "(input: T) -> (data: T)",
    .attrs = GROUP_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_USES_RENDEZVOUS,
    .shape = gather_shape,
    .kernels = GROUP_KERNELS(gather_start),
    .deviation = COLLECTIVE_DEVIATION,
    .doc = "Gives every member of a group the rows that all have given, in the order of their ranks.",
};
