// Scatter ops on variables: updates of some of their rows or slices, in place.
#include "graph/grad.h"
#include "ops/state/scatter.h"

#include <string.h>

// Name and form of an op: "ResourceScatterNdUpdate"
static bool is_nd(const braid_op *node)
{
    return strstr(node->op_type, "Nd") != NULL;
}

static braid_code scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape var = bd_shape_ctx_variable(c, 0), want, merged;
    const braid_shape *indices = &c->inputs[1], *updates = &c->inputs[2];
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (c->output_count > 0) c->outputs[0] = var;
    if (var.rank == 0 && !is_nd(c->node))
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (is_nd(c->node)) return bd_shape_ctx_updates(c, &var, 1, 2, st);
    if (!bd_slices_known_shape(false, &var, indices, &want))
        return bd_shape_ctx_fail(c, st, "indices of shape %s do not fit a variable of shape %s",
                                 bd_shape_str(indices, a), bd_shape_str(&var, b));
    if (updates->rank == 0 || bd_shape_merge(&want, updates, &merged)) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shapes must be equal, but are %s and %s", bd_shape_str(updates, a),
                             bd_shape_str(&want, b));
}

typedef struct scatter_state {
    bool locks, is_resource, is_nd;
    bd_update_op op;
    bd_update_fn update;
} scatter_state;

static void bind_scatter(const braid_op *node, bd_update_op op, scatter_state *s)
{
    s->is_resource = !node->def->inputs[0].is_ref;
    braid_dtype dtype = bd_dtype_base(node->input_types[2]);
    bool is_plain =
        // strings, handles and variants are never written while other kernels read them
        braid_dtype_size(dtype) > 0;
    s->locks = s->is_resource || !is_plain || bd_node_attr_bool(node, "use_locking");
    s->is_nd = is_nd(node);
    s->op = op;
    s->update = is_plain ? bd_update_function(dtype, op) : NULL;
}

#define SCATTER_CREATE(NAME, OP)                                                                             \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bind_scatter(node, OP, state);                                                                       \
        return BRAID_OK;                                                                                     \
    }
SCATTER_CREATE(add, BD_UPDATE_ADD)
SCATTER_CREATE(sub, BD_UPDATE_SUB)
SCATTER_CREATE(mul, BD_UPDATE_MUL)
SCATTER_CREATE(div, BD_UPDATE_DIV)
SCATTER_CREATE(min, BD_UPDATE_MIN)
SCATTER_CREATE(max, BD_UPDATE_MAX)
SCATTER_CREATE(set, BD_UPDATE_SET)

// Floating-point numbers have two zeros, which differ in the highest bit.
static bool is_zero(const braid_tensor *t, int64_t i)
{
    const bool is_complex = t->dtype == BRAID_COMPLEX64 || t->dtype == BRAID_COMPLEX128;
    const size_t size = braid_dtype_size(t->dtype), part = is_complex ? size / 2 : size;
    const bool has_sign = !(BD_DTYPE_BIT(t->dtype) & bd_dtypes_integer);
    const unsigned char *bytes = (const unsigned char *)t->data + (size_t)i * size;
    for (size_t k = 0; k < size; k++) {
        bool is_highest = (k + 1) % part == 0;
        if (bytes[k] & (has_sign && is_highest ? 0x7f : 0xff)) return false;
    }
    return true;
}

// For resource variables any division by 0 is refused, for reference variables that of integers.
static bool divides_by_zero(bd_op_ctx *c, const scatter_state *s, const braid_tensor *updates)
{
    if (s->op != BD_UPDATE_DIV) return false;
    if (!s->is_resource && !(BD_DTYPE_BIT(updates->dtype) & bd_dtypes_integer)) return false;
    for (int64_t i = 0; i < bd_tensor_count(updates); i++) {
        if (!is_zero(updates, i)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s",
                   s->is_resource ? "updates must not contain 0" : "Integer division by zero");
        return true;
    }
    return false;
}

static void scatter(bd_op_ctx *c, const scatter_state *s, const braid_tensor *value)
{
    const braid_tensor *indices = bd_input(c, 1), *updates = bd_input(c, 2);
    bd_slices slices;
    if (!bd_tensor_is_set(value))
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->inputs[0].op->name);
    else if (bd_slices_init(c, &slices, s->is_nd, &value->shape, indices) && !divides_by_zero(c, s, updates))
        bd_scatter(c, value, &slices, indices, updates, s->update);
}

static void scatter_run(bd_op_ctx *c)
{
    const scatter_state *s = c->state;
    bd_variable *v = s->is_resource ? bd_input_variable(c, 0, bd_input(c, 2)->dtype) : bd_input_ref(c, 0);
    if (!v) return;
    BD_STATUS(st);
    bd_variable_change change;
    if (bd_variable_begin_change(&change, v, BD_VARIABLE_ELEMENTS, s->locks, st))
        bd_op_fail_status(c, st);
    else
        scatter(c, s, &change.value);
    bd_variable_end_change(&change, true);
    if (s->is_resource)
        bd_resource_unref(&v->base);
    else if (!bd_op_failed(c))
        bd_output_ref(c, 0, v);
}

#define SCATTER_KERNELS(TYPES, CREATE)                                                                       \
    BD_KERNELS(                                                                                              \
        {.types = (TYPES), .state_size = sizeof(scatter_state), .create = (CREATE), .run = scatter_run})

// ---- Definitions ----

// Types that can be replaced but have no arithmetic.
#define SCATTER_MOVED "|bool|string|resource|variant"
#define SCATTER_REAL "T:type{bfloat16,double,float,half,int32,int64}"
#define REF_SIGNATURE "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))"
#define RESOURCE_SIGNATURE "(resource: resource, indices: Tindices, updates: dtype) -> ()"
#define RESOURCE_ND_SIGNATURE "(ref: resource, indices: Tindices, updates: T) -> ()"

BD_OP(ScatterAdd) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), create_add),
    .doc = "Adds rows to the rows of a variable that indices name; a row named twice gets both.",
};

BD_OP(ScatterSub) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), create_sub),
    .doc = "Subtracts rows from the rows of a variable that indices name.",
};

BD_OP(ScatterMul) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), create_mul),
    .doc = "Multiplies the rows of a variable that indices name.",
};

BD_OP(ScatterDiv) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), create_div),
    .doc = "Divides the rows of a variable that indices name.",
};

BD_OP(ScatterMin) = {
    .signature = REF_SIGNATURE,
    .attrs = SCATTER_REAL "; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("T"), create_min),
    .doc = "Keeps the lesser of each element and its update in the rows of a variable that indices name.",
};

BD_OP(ScatterMax) = {
    .signature = REF_SIGNATURE,
    .attrs = SCATTER_REAL "; Tindices:type{int32,int64}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("T"), create_max),
    .doc = "Keeps the greater of each element and its update in the rows of a variable that indices name.",
};

BD_OP(ScatterUpdate) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T") SCATTER_MOVED, create_set),
    .doc = "Replaces the rows of a variable that indices name; of a row named twice the last one stays.",
};

BD_OP(ResourceScatterAdd) = {
    .signature = RESOURCE_SIGNATURE,
    .attrs = "dtype:type{number}; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("dtype"), create_add),
    .doc = "ScatterAdd of a resource variable.",
};

BD_OP(ResourceScatterSub) = {
    .signature = RESOURCE_SIGNATURE,
    .attrs = "dtype:type{number}; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("dtype"), create_sub),
    .doc = "ScatterSub of a resource variable.",
};

BD_OP(ResourceScatterMul) = {
    .signature = RESOURCE_SIGNATURE,
    .attrs = "dtype:type{number}; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("dtype"), create_mul),
    .doc = "ScatterMul of a resource variable.",
};

BD_OP(ResourceScatterDiv) = {
    .signature = RESOURCE_SIGNATURE,
    .attrs = "dtype:type{number}; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("dtype"), create_div),
    .doc = "ScatterDiv of a resource variable.",
};

BD_OP(ResourceScatterMin) = {
    .signature = RESOURCE_SIGNATURE,
    .attrs = "dtype:type{number}; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("dtype"), create_min),
    .doc = "ScatterMin of a resource variable.",
};

BD_OP(ResourceScatterMax) = {
    .signature = RESOURCE_SIGNATURE,
    .attrs = "dtype:type{number}; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("dtype"), create_max),
    .doc = "ScatterMax of a resource variable.",
};

BD_OP(ResourceScatterUpdate) = {
    .signature = RESOURCE_SIGNATURE,
    .attrs = "dtype:type; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("dtype") SCATTER_MOVED, create_set),
    .doc = "ScatterUpdate of a resource variable.",
};

BD_OP(ScatterNdAdd) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), create_add),
    .doc = "Adds to the slices of a variable that indices name.",
};

BD_OP(ScatterNdSub) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T"), create_sub),
    .doc = "Subtracts from the slices of a variable that indices name.",
};

BD_OP(ScatterNdUpdate) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T") "|bool", create_set),
    .doc = "Replaces the slices of a variable that indices name.",
};

BD_OP(ResourceScatterNdAdd) = {
    .signature = RESOURCE_ND_SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T") "|bool", create_add),
    .doc = "ScatterNdAdd of a resource variable.",
};

BD_OP(ResourceScatterNdSub) = {
    .signature = RESOURCE_ND_SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T") "|bool", create_sub),
    .doc = "ScatterNdSub of a resource variable.",
};

BD_OP(ResourceScatterNdUpdate) = {
    .signature = RESOURCE_ND_SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_TYPES_OF("T") "|bool", create_set),
    .doc = "ScatterNdUpdate of a resource variable.",
};

BD_OP(ScatterNdMin) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("T"), create_min),
    .doc = "Keeps the lesser of each element and its update in the slices of a variable that indices name.",
};

BD_OP(ResourceScatterNdMin) = {
    .signature = RESOURCE_ND_SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("T"), create_min),
    .doc = "ScatterNdMin of a resource variable.",
};

BD_OP(ScatterNdMax) = {
    .signature = REF_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}; use_locking:bool=false" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("T"), create_max),
    .doc = "Keeps the greater of each element and its update in the slices of a variable that indices name.",
};

BD_OP(ResourceScatterNdMax) = {
    .signature = RESOURCE_ND_SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}; use_locking:bool=true" BD_BAD_INDICES_ATTR,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = SCATTER_KERNELS(BD_UPDATE_REAL_TYPES_OF("T"), create_max),
    .doc = "ScatterNdMax of a resource variable.",
};
