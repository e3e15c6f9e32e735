// ScatterAdd, ScatterSub, ScatterUpdate: updates of some rows of a reference variable, in place.
#include "graph/grad.h"
#include "ops/element.h"
#include "ops/variable.h"

#include <string.h>

static braid_code scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *var = &c->inputs[0], *indices = &c->inputs[1], *updates = &c->inputs[2];
    c->outputs[0] = *var;
    if (var->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (var->rank < 0 || indices->rank < 0 || updates->rank <= 0) return BRAID_OK;
    braid_shape want = *indices, merged;
    for (int d = 1; d < var->rank && want.rank < BRAID_RANK_MAX; d++)
        want.dims[want.rank++] = var->dims[d];
    if (bd_shape_merge(&want, updates, &merged)) return BRAID_OK;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st, "Shapes must be equal, but are %s and %s", bd_shape_str(updates, a),
                             bd_shape_str(&want, b));
}

#define DEFINE_ASSIGN(NAME, TYPE)                                                                            \
    BD_HOGWILD static void NAME(void *value, const void *delta, int64_t count)                               \
    {                                                                                                        \
        TYPE *v = value;                                                                                     \
        const TYPE *d = delta;                                                                               \
        for (int64_t i = 0; i < count; i++)                                                                  \
            v[i] = d[i];                                                                                     \
    }

DEFINE_ASSIGN(assign_8, uint8_t)
DEFINE_ASSIGN(assign_16, uint16_t)
DEFINE_ASSIGN(assign_32, uint32_t)
DEFINE_ASSIGN(assign_64, uint64_t)

typedef struct scatter_state {
    bool use_locking;
    size_t size; // of an element
    bd_update_fn update;
} scatter_state;

static void bind_scatter(const braid_op *node, scatter_state *s)
{
    s->use_locking = bd_node_attr_bool(node, "use_locking");
    s->size = braid_dtype_size(bd_node_attr_type(node, "T"));
}

static braid_code add_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bind_scatter(node, state);
    ((scatter_state *)state)->update = bd_update_function(bd_node_attr_type(node, "T"), false);
    return BRAID_OK;
}

static braid_code sub_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bind_scatter(node, state);
    ((scatter_state *)state)->update = bd_update_function(bd_node_attr_type(node, "T"), true);
    return BRAID_OK;
}

static braid_code assign_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    scatter_state *s = state;
    bind_scatter(node, s);
    s->update = s->size == 1 ? assign_8 : s->size == 2 ? assign_16 : s->size == 4 ? assign_32 : assign_64;
    return BRAID_OK;
}

// updates.shape = indices.shape + var.shape[1:], or a scalar.
static bool check_shapes(bd_op_ctx *c, const braid_shape *var)
{
    const braid_shape *indices = &bd_input(c, 1)->shape, *updates = &bd_input(c, 2)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX], p[BD_SHAPE_STR_MAX];
    if (var->rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "params must be at least 1-D, got shape %s",
                   bd_shape_str(var, p));
        return false;
    }
    bool fits = updates->rank == indices->rank + var->rank - 1;
    for (int d = 0; d < updates->rank && fits; d++)
        fits = updates->dims[d] == (d < indices->rank ? indices->dims[d] : var->dims[d - indices->rank + 1]);
    if (fits || updates->rank == 0) return true;
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape %s, "
        "indices.shape %s, params.shape %s",
        bd_shape_str(updates, a), bd_shape_str(indices, b), bd_shape_str(var, p));
    return false;
}

// Row number `i` of the indices; -1: the kernel has failed. Indices in a variable's memory may change between two looks.
static int64_t row_at(bd_op_ctx *c, int64_t i, int64_t rows)
{
    int64_t row = bd_tensor_index(bd_input(c, 1), i);
    if (row >= 0 && row < rows) return row;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)", (long long)i,
               (long long)row, (long long)rows);
    return -1;
}

static void scatter(bd_op_ctx *c, const braid_tensor *var)
{
    const scatter_state *s = c->state;
    const braid_tensor *indices = bd_input(c, 1), *updates = bd_input(c, 2);
    if (!check_shapes(c, &var->shape)) return;
    int64_t len = bd_shape_count_range(&var->shape, 1, var->shape.rank);
    bool is_scalar = updates->shape.rank == 0 && indices->shape.rank + var->shape.rank > 1;
    for (int64_t i = 0; i < bd_tensor_count(indices); i++) {
        int64_t at = row_at(c, i, var->shape.dims[0]);
        if (at < 0) return;
        char *row = (char *)var->data + (size_t)(at * len) * s->size;
        if (!is_scalar) s->update(row, (const char *)updates->data + (size_t)(i * len) * s->size, len);
        for (int64_t k = 0; is_scalar && k < len; k++)
            s->update(row + (size_t)k * s->size, updates->data, 1);
    }
    bd_output_ref(c, 0, bd_input_ref(c, 0));
}

static void scatter_run(bd_op_ctx *c)
{
    const scatter_state *s = c->state;
    bd_variable *v = bd_input_ref(c, 0);
    braid_tensor value = {
        0}; // the memory stays while we hold a reference, also when somebody assigns another shape
    bool is_set;
    if (s->use_locking) {
        bd_mutex_lock(&v->mu);
        is_set = bd_tensor_is_set(&v->tensor);
        if (is_set) bd_tensor_ref(&value, &v->tensor);
    } else {
        is_set = bd_variable_read(v, &value);
    }
    if (is_set) {
        scatter(c, &value);
    } else {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->inputs[0].op->name);
    }
    if (s->use_locking) bd_mutex_unlock(&v->mu);
    bd_tensor_fini(&value);
}

#define SCATTER_KERNELS(TYPES, CREATE)                                                                       \
    BD_KERNELS(                                                                                              \
        {.types = (TYPES), .state_size = sizeof(scatter_state), .create = (CREATE), .run = scatter_run})

BD_OP(ScatterAdd) = {
    .signature = "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), add_create),
    .doc = "Adds rows to the rows of a variable that indices name; a row named twice gets both.",
};

BD_OP(ScatterSub) = {
    .signature = "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), sub_create),
    .doc = "Subtracts rows from the rows of a variable that indices name.",
};

BD_OP(ScatterUpdate) = {
    .signature = "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T") "|bool", assign_create),
    .doc = "Replaces the rows of a variable that indices name; of a row named twice the last one stays.",
};
