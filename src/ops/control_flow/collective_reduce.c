// CollectiveReduce: each member gets the sum (product, minimum, maximum) of the tensors of all members.
//
// Elements are merged in the order of ranks, so that all members get the same bits. Two members with small
// tensors exchange them whole and merge both by themselves, which takes one step; among more members, member
// 0 merges (collective_root.c), which takes fewer messages. Larger tensors are merged part by part
// (collective_all_reduce.c), which spreads the bytes evenly.
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/control_flow/collective_all_reduce.h"
#include <string.h>

typedef struct reduce_state {
    bd_collective_state group;
    bd_merge merge;
    bool divides;
} reduce_state;

static braid_code reduce_create(const braid_op *node, void *state, braid_status *st)
{
    reduce_state *s = state;
    const char *merge = bd_node_attr_string(node, "merge_op");
    s->merge = strcmp(merge, "Mul") == 0   ? BD_MERGE_MUL
               : strcmp(merge, "Min") == 0 ? BD_MERGE_MIN
               : strcmp(merge, "Max") == 0 ? BD_MERGE_MAX
                                           : BD_MERGE_ADD;
    s->divides = strcmp(bd_node_attr_string(node, "final_op"), "Div") == 0;
    return bd_collective_state_read(node, &s->group, st);
}

// ---- The op ----

static void reduce_done(bd_op_ctx *c, const bd_exchanged *x)
{
    const reduce_state *s = c->state;
    const braid_tensor *own = &x->values[x->rank];
    BD_STATUS(st);
    for (int i = 0; i < x->size; i++) {
        if (!bd_collective_compare_announced(own, &x->values[i], i, st)) continue;
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, own->dtype, &own->shape);
    if (!y) return;
    const int64_t count = bd_tensor_count(y);
    if (x->size == 1) bd_elements_copy(y, 0, own, 0, count);
    const void *before = x->values[0].data;
    for (int i = 1; i < x->size; i++, before = y->data)
        bd_collective_merge(s->merge, y->dtype, y->data, before, x->values[i].data, count);
    if (s->divides) bd_collective_divide(y->dtype, y->data, count, x->size);
}

static void reduce_start(bd_op_ctx *c)
{
    const reduce_state *s = c->state;
    const bd_all_reduce_options options = {.group = &s->group, .merge = s->merge, .divides = s->divides};
    const size_t others = (size_t)s->group.group_size - 1, bytes = bd_tensor_bytes(bd_input(c, 0));
    if (others > 0 && bytes >= (BD_ALL_REDUCE_MIN_BYTES + others - 1) / others)
        bd_collective_all_reduce(c, &options);
    else if (others > 1)
        bd_collective_reduce_at_root(c, &options);
    else
        bd_collective_exchange(c, &(bd_exchange_options){.group = &s->group,
                                                         .type = BD_COLLECTIVE_REDUCTION,
                                                         .own = bd_input(c, 0),
                                                         .done = reduce_done});
}

BD_OP(CollectiveReduce) = {
    .signature = "(input: T) -> (data: T)",
    .attrs = "T:type{float,half,double,int32,int64}; group_size:int; group_key:int; instance_key:int; "
             "merge_op:string{Min,Max,Mul,Add}; final_op:string{Id,Div}; subdiv_offsets:list(int); "
             "wait_for:list(int)=[]; communication_hint:string='auto'; +timeout_seconds:float=0",
    .flags = BD_OP_STATEFUL | BD_OP_USES_RENDEZVOUS,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.types = "T=float|double|half|int32|int64",
                           .state_size = sizeof(reduce_state),
                           .create = reduce_create,
                           .start = reduce_start}),
    .deviation = COLLECTIVE_DEVIATION,
    .doc =
        "Gives each member of a group the sum, product, minimum or maximum of all members' inputs, or its share of it.",
};
