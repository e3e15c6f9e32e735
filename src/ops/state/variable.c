// Reference variables: VariableV2 and the ops that check and assign them.
//
// A variable is a resource of the step's device, under container and shared_name (or the node's name), and
// outlives sessions. The executor, which knows the source of a reference, refuses to read an uninitialized
// one.
#include "ops/state/variable.h"
#include "base/array.h"
#include "graph/grad.h"
#include "ops/common/element.h"

// ---- Finding the variable ----

static braid_code create_variable(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const bd_variable_binding *b = arg;
    bd_variable *v = bd_variable_new(b->dtype, b->is_reference);
    v->tensor.shape = b->shape; // still "no tensor": the first value must fit it
    *out = &v->base;
    return BRAID_OK;
}

void bd_variable_bind(const braid_op *node, bool is_reference, bd_variable_binding *b)
{
    const char *shared_name = bd_node_attr_string(node, "shared_name");
    b->container = bd_node_attr_string(node, "container");
    b->name = shared_name[0] ? shared_name : node->name;
    b->dtype = bd_node_attr_type(node, "dtype");
    b->shape = bd_node_attr_shape(node, "shape");
    b->is_reference = is_reference;
}

braid_code bd_variable_find(const bd_variable_binding *b, bd_resources *rs, bd_variable **v, braid_status *st)
{
    bd_resource *r;
    braid_code code = bd_resources_lookup_or_create(
        rs,
        &(bd_resource_spec){b->container, b->name,
                            b->is_reference ? &bd_ref_variable_type : &bd_variable_type, create_variable,
                            (void *)b},
        &r, st);
    if (code) return code;
    *v = BD_CONTAINER_OF(r, bd_variable, base);
    if ((*v)->dtype == b->dtype) return BRAID_OK;
    code = bd_fail(st, BRAID_INVALID_ARGUMENT, "Variable '%s' in container '%s' is of type %s, not %s",
                   b->name, bd_resources_container(rs, b->container), braid_dtype_name((*v)->dtype),
                   braid_dtype_name(b->dtype));
    bd_resource_unref(r);
    *v = NULL;
    return code;
}

// ---- VariableV2, Variable ----

// Keeps the variable that was found first, so that later steps cost one load. A bound kernel belongs to one
// device, so the container and name suffice. After a Reset it looks again; variables from before are held,
// empty, until the kernel ends.
typedef struct variable_state {
    bd_variable_binding binding;
    _Atomic(bd_variable *) found; // one of `held`; NULL before the first run
    bd_mutex mu;
    BD_ARRAY(bd_variable *) held; // guarded by mu; one reference each
} variable_state;

static braid_code variable_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    variable_state *s = state;
    bd_mutex_init(&s->mu);
    bd_variable_bind(node, true, &s->binding);
    return BRAID_OK;
}

static void variable_destroy(void *state)
{
    variable_state *s = state;
    for (size_t i = 0; i < s->held.len; i++)
        bd_resource_unref(&s->held.items[i]->base);
    bd_array_free(&s->held);
    bd_mutex_fini(&s->mu);
}

static bool is_good(bd_variable *v)
{
    return v && !atomic_load_explicit(&v->abandoned, memory_order_acquire);
}

static bd_variable *find_again(variable_state *s, bd_resources *rs, braid_status *st)
{
    bd_mutex_lock(&s->mu);
    bd_variable *v = atomic_load_explicit(&s->found, memory_order_relaxed);
    if (!is_good(v)) {
        v = NULL;
        if (bd_variable_find(&s->binding, rs, &v, st) == BRAID_OK) {
            bd_array_push(&s->held, v);
            atomic_store_explicit(&s->found, v, memory_order_release);
        }
    }
    bd_mutex_unlock(&s->mu);
    return v;
}

static void variable_run(bd_op_ctx *c)
{
    variable_state *s = c->state;
    bd_variable *v = atomic_load_explicit(&s->found, memory_order_acquire);
    if (!is_good(v)) {
        BD_STATUS(st);
        v = find_again(s, c->step->resources, st);
        if (!v) {
            bd_op_fail_status(c, st);
            return;
        }
    }
    bd_output_ref(c, 0, v);
}

#define VARIABLE_ATTRS "shape:shape; dtype:type; container:string=''; shared_name:string=''"
#define VARIABLE_KERNELS                                                                                     \
    BD_KERNELS({.state_size = sizeof(variable_state),                                                        \
                .create = variable_create,                                                                   \
                .destroy = variable_destroy,                                                                 \
                .run = variable_run})

BD_OP(VariableV2) = {
    .signature = "() -> (ref: Ref(dtype))",
    .attrs = VARIABLE_ATTRS,
    .role = BD_ROLE_VARIABLE,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_from_attr,
    .kernels = VARIABLE_KERNELS,
    .doc = "A variable, updated in place; sessions that name the same container and shared_name share it.",
};

// A scalar shape of the old op may mean an unknown one.
static braid_code old_variable_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    braid_shape shape = bd_node_attr_shape(c->node, "shape");
    if (shape.rank > 0) c->outputs[0] = shape;
    return BRAID_OK;
}

BD_OP(Variable) = {
    .signature = "() -> (ref: Ref(dtype))",
    .attrs = VARIABLE_ATTRS,
    .role = BD_ROLE_VARIABLE,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = old_variable_shape,
    .kernels = VARIABLE_KERNELS,
    .doc = "The older form of VariableV2.",
};

// ---- IsVariableInitialized ----

static void is_initialized_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_ref(c, 0);
    bd_mutex_lock(&v->mu);
    bool is_set = bd_tensor_is_set(&v->tensor);
    bd_mutex_unlock(&v->mu);
    braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &BD_SCALAR);
    if (y) bd_tensor_bool(y)[0] = is_set;
}

BD_OP(IsVariableInitialized) = {
    .signature = "(ref: Ref(dtype)) -> (is_initialized: bool)",
    .attrs = "dtype:type",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether a variable has been assigned.",
};

// ---- Assign ----

static braid_code assign_shape(bd_shape_ctx *c, braid_status *st)
{
    if (!bd_node_attr_bool(c->node, "validate_shape")) {
        c->outputs[0] = c->inputs[1];
        return BRAID_OK;
    }
    if (bd_shape_merge(&c->inputs[0], &c->inputs[1], &c->outputs[0])) return BRAID_OK;
    char lhs[BD_SHAPE_STR_MAX], rhs[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st,
                             "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s",
                             bd_shape_str(&c->inputs[0], lhs), bd_shape_str(&c->inputs[1], rhs));
}

typedef struct assign_state {
    bool validate_shape;
} assign_state;

static braid_code assign_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    ((assign_state *)state)->validate_shape = bd_node_attr_bool(node, "validate_shape");
    return BRAID_OK;
}

static void assign_run(bd_op_ctx *c)
{
    const assign_state *s = c->state;
    bd_variable *v = bd_input_ref(c, 0);
    if (s->validate_shape) {
        bd_mutex_lock(&v->mu);
        braid_shape lhs = v->tensor.shape, merged; // of the value, or the declared one
        bd_mutex_unlock(&v->mu);
        if (!bd_shape_merge(&lhs, &bd_input(c, 1)->shape, &merged)) {
            char l[BD_SHAPE_STR_MAX], r[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s",
                       bd_shape_str(&lhs, l), bd_shape_str(&bd_input(c, 1)->shape, r));
            return;
        }
    }
    BD_STATUS(st);
    if (bd_variable_assign(v, &c->inputs[1].tensor, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    bd_output_ref(c, 0, v);
}

BD_OP(Assign) = {
    .signature = "(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
    .attrs = "T:type; validate_shape:bool=true; use_locking:bool=true",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_NOT_DIFFERENTIABLE,
    .shape = assign_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(assign_state), .create = assign_create, .run = assign_run}),
    .doc = "Gives a variable a value, of its own shape unless validate_shape is false.",
};

// ---- AssignAdd, AssignSub ----

static braid_code update_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_fn_merged(c, st);
}

typedef struct update_state {
    bool use_locking;
    bd_update_fn update;
} update_state;

static braid_code update_create(const braid_op *node, update_state *s, bd_update_op op, braid_status *st)
{
    s->use_locking = bd_node_attr_bool(node, "use_locking");
    s->update = bd_update_function(bd_node_attr_type(node, "T"), op);
    if (s->update) return BRAID_OK;
    return bd_fail(st, BRAID_UNIMPLEMENTED, "%s '%s' is not implemented for type %s", node->op_type,
                   node->name, braid_dtype_name(bd_node_attr_type(node, "T")));
}

static braid_code add_create(const braid_op *node, void *state, braid_status *st)
{
    return update_create(node, state, BD_UPDATE_ADD, st);
}

static braid_code sub_create(const braid_op *node, void *state, braid_status *st)
{
    return update_create(node, state, BD_UPDATE_SUB, st);
}

static void update_run(bd_op_ctx *c)
{
    const update_state *s = c->state;
    bd_variable *v = bd_input_ref(c, 0);
    if (bd_variable_update(c, v, bd_input(c, 1), s->update, s->use_locking)) bd_output_ref(c, 0, v);
}

BD_OP(AssignAdd) = {
    .signature = "(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = update_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"),
                           .state_size = sizeof(update_state),
                           .create = add_create,
                           .run = update_run}),
    .doc = "Adds a tensor of the same shape to a variable, in place.",
};

BD_OP(AssignSub) = {
    .signature = "(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
    .attrs = "T:type{number}; use_locking:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = update_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"),
                           .state_size = sizeof(update_state),
                           .create = sub_create,
                           .run = update_run}),
    .doc = "Subtracts a tensor of the same shape from a variable, in place.",
};
