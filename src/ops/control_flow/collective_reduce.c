// CollectiveReduce: each member gets the sum (product, minimum, maximum) of the tensors of all members.
//
// Each member has all tensors and reduces them in the order of ranks, so that all members get the same bits.
#include "base/half.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/control_flow/collective.h"
#include <string.h>

typedef enum merge_op {
    MERGE_ADD,
    MERGE_MUL,
    MERGE_MIN,
    MERGE_MAX,
} merge_op;

typedef struct reduce_state {
    bd_collective_state group; // must be first: the state of the exchange
    merge_op merge;
    bool divides;
} reduce_state;

static braid_code reduce_create(const braid_op *node, void *state, braid_status *st)
{
    reduce_state *s = state;
    const char *merge = bd_node_attr_string(node, "merge_op");
    s->merge = strcmp(merge, "Mul") == 0   ? MERGE_MUL
               : strcmp(merge, "Min") == 0 ? MERGE_MIN
               : strcmp(merge, "Max") == 0 ? MERGE_MAX
                                           : MERGE_ADD;
    s->divides = strcmp(bd_node_attr_string(node, "final_op"), "Div") == 0;
    return bd_collective_state_read(node, &s->group, st);
}

// ---- Merging ----

#define MIN_OF(a, b) ((b) < (a) ? (b) : (a))
#define MAX_OF(a, b) ((b) > (a) ? (b) : (a))
#define ADD_OF(a, b) ((a) + (b))
#define MUL_OF(a, b) ((a) * (b))

// WORK is the type of the computation: unsigned for integers, so that sums and products wrap around.
#define MERGE_LOOP(WORK, T, OF)                                                                              \
    for (int64_t i = 0; i < count; i++)                                                                      \
    to[i] = (T)OF((WORK)to[i], (WORK)from[i])

#define MERGE_FN(NAME, T, WORK)                                                                              \
    static void merge_##NAME(merge_op op, T *to, const T *from, int64_t count)                               \
    {                                                                                                        \
        switch (op) {                                                                                        \
        case MERGE_ADD: MERGE_LOOP(WORK, T, ADD_OF); break;                                                  \
        case MERGE_MUL: MERGE_LOOP(WORK, T, MUL_OF); break;                                                  \
        case MERGE_MIN: MERGE_LOOP(T, T, MIN_OF); break;                                                     \
        case MERGE_MAX: MERGE_LOOP(T, T, MAX_OF); break;                                                     \
        }                                                                                                    \
    }                                                                                                        \
    static void divide_##NAME(T *to, int64_t count, int by)                                                  \
    {                                                                                                        \
        for (int64_t i = 0; i < count; i++)                                                                  \
            to[i] = (T)(to[i] / (T)by);                                                                      \
    }

MERGE_FN(f32, float, float)
MERGE_FN(f64, double, double)
MERGE_FN(i32, int32_t, uint32_t)
MERGE_FN(i64, int64_t, uint64_t)

static void merge_half(merge_op op, uint16_t *to, const uint16_t *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float a = bd_float_of_half(to[i]);
        const float b = bd_float_of_half(from[i]);
        merge_f32(op, &a, &b, 1);
        to[i] = bd_half_of_float(a);
    }
}

static void divide_half(uint16_t *to, int64_t count, int by)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = bd_half_of_float(bd_float_of_half(to[i]) / (float)by);
}

static void merge(merge_op op, const braid_tensor *to, const braid_tensor *from)
{
    const int64_t count = bd_tensor_count(to);
    switch (to->dtype) {
    case BRAID_FLOAT: merge_f32(op, to->data, from->data, count); break;
    case BRAID_DOUBLE: merge_f64(op, to->data, from->data, count); break;
    case BRAID_INT32: merge_i32(op, to->data, from->data, count); break;
    case BRAID_INT64: merge_i64(op, to->data, from->data, count); break;
    default: merge_half(op, to->data, from->data, count); break;
    }
}

static void divide(const braid_tensor *to, int by)
{
    const int64_t count = bd_tensor_count(to);
    switch (to->dtype) {
    case BRAID_FLOAT: divide_f32(to->data, count, by); break;
    case BRAID_DOUBLE: divide_f64(to->data, count, by); break;
    case BRAID_INT32: divide_i32(to->data, count, by); break;
    case BRAID_INT64: divide_i64(to->data, count, by); break;
    default: divide_half(to->data, count, by); break;
    }
}

// ---- The op ----

static void reduce_done(bd_op_ctx *c, const bd_exchanged *x)
{
    const reduce_state *s = c->state;
    const braid_tensor *own = &x->values[x->rank];
    for (int i = 0; i < x->size; i++)
        if (!bd_collective_check_alike(c, own, &x->values[i], i)) return;
    braid_tensor *y = bd_output(c, 0, own->dtype, &own->shape);
    if (!y) return;
    bd_elements_copy(y, 0, &x->values[0], 0, bd_tensor_count(y));
    for (int i = 1; i < x->size; i++)
        merge(s->merge, y, &x->values[i]);
    if (s->divides) divide(y, x->size);
}

static void reduce_start(bd_op_ctx *c)
{
    const reduce_state *s = c->state;
    bd_collective_exchange(c, &(bd_exchange_options){.group = &s->group,
                                                     .type = BD_COLLECTIVE_REDUCTION,
                                                     .own = bd_input(c, 0),
                                                     .done = reduce_done});
}

BD_OP(CollectiveReduce) = {
    .signature = "(input: T) -> (data: T)",
    .attrs = "T:type{float,half,double,int32,int64}; group_size:int; group_key:int; instance_key:int; "
             "merge_op:string{Min,Max,Mul,Add}; final_op:string{Id,Div}; subdiv_offsets:list(int); "
             "wait_for:list(int)=[]; communication_hint:string='auto'; timeout_seconds:float=0",
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
