// Resource variables: a handle names the variable, and a value once read never changes.
#include "base/alloc.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/handle.h"
#include "ops/state/variable.h"

// ---- VarHandleOp ----

static braid_code handle_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = BD_SCALAR;
    return BRAID_OK;
}

typedef struct handle_state {
    bd_variable_binding binding;
} handle_state;

static braid_code handle_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_variable_bind(node, false, &((handle_state *)state)->binding);
    return BRAID_OK;
}

static void handle_run(bd_op_ctx *c)
{
    const bd_variable_binding *b = &((const handle_state *)c->state)->binding;
    braid_tensor *y = bd_output(c, 0, BRAID_RESOURCE, &BD_SCALAR);
    if (!y) return;
    bd_resource_handle *h = bd_tensor_handle(y);
    h->device = bd_strdup(c->node->assigned_device ? c->node->assigned_device : "");
    h->container = bd_strdup(bd_resources_container(c->step->resources, b->container));
    h->name = bd_strdup(b->name);
    h->type_name = bd_strdup(bd_variable_type.name);
    h->hash_code = 0;
}

BD_OP(VarHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''; +debug_name:string=''; dtype:type; shape:shape; "
             "+allowed_devices:list(string)=[]",
    .role = BD_ROLE_VARIABLE,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = handle_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(handle_state), .create = handle_create, .run = handle_run}),
    .doc = "A handle to a resource variable.",
};

// ---- From handle to variable ----

// The handle in input `i`, which a client may have sent. NULL: the kernel has failed.
static const bd_resource_handle *handle_input(bd_op_ctx *c, int i)
{
    const braid_tensor *t = bd_input(c, i);
    if (bd_tensor_count(t) == 1 && bd_tensor_handle(t)->name) return bd_tensor_handle(t);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': the input is no handle of a variable", c->node->op_type,
               c->node->name);
    return NULL;
}

bd_variable *bd_input_variable(bd_op_ctx *c, int i, braid_dtype dtype)
{
    const bd_resource_handle *h = handle_input(c, i);
    if (!h || !bd_handle_check_kind(c, h, &bd_variable_type)) return NULL;
    bd_resource *r;
    BD_STATUS(st);
    if (bd_resources_lookup(c->step->resources, h->container, h->name, &bd_variable_type, &r, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    bd_variable *v = BD_CONTAINER_OF(r, bd_variable, base);
    if (dtype == BRAID_INVALID || v->dtype == dtype) return v;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Trying to use variable %s with wrong dtype. Expected %s got %s",
               h->name, braid_dtype_name(dtype), braid_dtype_name(v->dtype));
    bd_resource_unref(r);
    return NULL;
}

bd_variable *bd_input_variable_to_read(bd_op_ctx *c, int i, braid_dtype dtype)
{
    bd_variable *v = bd_input_variable(c, i, dtype);
    if (v || c->status.code != BRAID_NOT_FOUND) return v;
    const bd_resource_handle *h = bd_tensor_handle(bd_input(c, i));
    BD_STATUS(missing);
    bd_status_move(missing, &c->status);
    bd_op_fail(
        c, BRAID_FAILED_PRECONDITION,
        "Error while reading resource variable %s from Container: %s. This could mean that the variable was "
        "uninitialized. Not found: %s",
        h->name, bd_resources_container(c->step->resources, h->container), braid_status_message(missing));
    return NULL;
}

// The VarHandleOp of input `i`; NULL when it is unknown here.
static const braid_op *handle_source(const braid_op *node, int i)
{
    const braid_op *source = i < node->input_count ? node->inputs[i].op : NULL;
    return source && bd_node_role(source) == BD_ROLE_VARIABLE ? source : NULL;
}

braid_shape bd_shape_ctx_variable(const bd_shape_ctx *c, int i)
{
    if (bd_dtype_base(c->node->input_types[i]) != BRAID_RESOURCE) return c->inputs[i];
    const braid_op *source = handle_source(c->node, i);
    const bd_attr *shape = source ? bd_node_attr(source, "shape") : NULL;
    return shape && shape->kind == BD_ATTR_SHAPE ? shape->shape : BD_SHAPE_UNKNOWN;
}

// An error when the handle in input 0 is declared for another type than the node's attr `dtype`.
static braid_code check_type(bd_shape_ctx *c, braid_status *st)
{
    const braid_op *source = handle_source(c->node, 0);
    braid_dtype dtype = bd_node_attr_type(c->node, "dtype");
    braid_dtype declared = source ? bd_node_attr_type(source, "dtype") : dtype;
    if (declared == dtype) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Trying to use variable '%s' with wrong dtype. Expected %s got %s",
                             source->name, braid_dtype_name(declared), braid_dtype_name(dtype));
}

// ---- ReadVariableOp ----

static braid_code read_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape_ctx_variable(c, 0);
    braid_code code = check_type(c, st);
    return code ? code : bd_shape_ctx_rank(c, 0, 0, st);
}

static void read_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable_to_read(c, 0, c->node->output_types[0]);
    if (!v) return;
    braid_tensor value = {0};
    if (bd_variable_read(v, &value)) {
        bd_output_set(c, 0, &value);
        bd_tensor_fini(&value);
    } else {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   bd_tensor_handle(bd_input(c, 0))->name);
    }
    bd_resource_unref(&v->base);
}

static void read_gradient(bd_grad_ctx *c)
{
    bd_grad_pass(c, 0, 0);
}

BD_OP(ReadVariableOp) = {
    .signature = "(resource: resource) -> (value: dtype)",
    .attrs = "dtype:type",
    .flags = BD_OP_STATEFUL | BD_OP_SPARSE_GRAD,
    .shape = read_shape,
    .gradient = read_gradient,
    .kernels = BD_KERNELS({.run = read_run}),
    .doc = "The value of a resource variable; later updates do not change the value read.",
};

// ---- AssignVariableOp, AssignAddVariableOp, AssignSubVariableOp ----

static braid_code assign_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape declared = bd_shape_ctx_variable(c, 0), merged;
    braid_code code = check_type(c, st);
    if (code) return code;
    if (bd_shape_merge(&declared, &c->inputs[1], &merged)) return bd_shape_ctx_rank(c, 0, 0, st);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st, "Shapes must be equal, but are %s and %s", bd_shape_str(&declared, a),
                             bd_shape_str(&c->inputs[1], b));
}

// A variable that has a value takes only another of its shape.
static bool check_value_shape(bd_op_ctx *c, bd_variable *v)
{
    const braid_shape *shape = &bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_mutex_lock(&v->mu);
    if (bd_tensor_is_set(&v->tensor) && !bd_shape_equal(&v->tensor.shape, shape))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Trying to assign to variable with tensor with wrong shape. Expected %s got %s",
                   bd_shape_str(&v->tensor.shape, a), bd_shape_str(shape, b));
    bd_mutex_unlock(&v->mu);
    return !bd_op_failed(c);
}

static void assign_run(bd_op_ctx *c)
{
    const bd_resource_handle *h = handle_input(c, 0);
    if (!h || !bd_handle_check_kind(c, h, &bd_variable_type)) return;
    bd_variable_binding b = {.container = h->container,
                             .name = h->name,
                             .dtype = bd_input(c, 1)->dtype,
                             .shape = BD_SHAPE_UNKNOWN};
    bd_variable *v;
    BD_STATUS(st);
    if (bd_variable_find(&b, c->step->resources, &v, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    bool fits = !bd_node_attr_bool(c->node, "validate_shape") || check_value_shape(c, v);
    if (fits && bd_variable_assign(v, &c->inputs[1].tensor, st)) bd_op_fail_status(c, st);
    bd_resource_unref(&v->base);
}

BD_OP(AssignVariableOp) = {
    .signature = "(resource: resource, value: dtype) -> ()",
    .attrs = "dtype:type; +validate_shape:bool=false",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = assign_shape,
    .kernels = BD_KERNELS({.run = assign_run}),
    .doc = "Gives a resource variable a value; the variable is made if it does not exist.",
};

static void update(bd_op_ctx *c, bd_update_op op)
{
    braid_dtype dtype = bd_input(c, 1)->dtype;
    bd_update_fn fn = bd_update_function(dtype, op);
    bd_variable *v = bd_input_variable(c, 0, dtype);
    if (!v) return;
    bd_variable_update(c, v, bd_input(c, 1), fn, true);
    bd_resource_unref(&v->base);
}

static void add_run(bd_op_ctx *c)
{
    update(c, BD_UPDATE_ADD);
}

static void sub_run(bd_op_ctx *c)
{
    update(c, BD_UPDATE_SUB);
}

BD_OP(AssignAddVariableOp) = {
    .signature = "(resource: resource, value: dtype) -> ()",
    .attrs = "dtype:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = assign_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("dtype"), .run = add_run}),
    .doc = "Adds a tensor to a resource variable.",
};

BD_OP(AssignSubVariableOp) = {
    .signature = "(resource: resource, value: dtype) -> ()",
    .attrs = "dtype:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = assign_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("dtype"), .run = sub_run}),
    .doc = "Subtracts a tensor from a resource variable.",
};

// ---- VarIsInitializedOp, VariableShape, DestroyResourceOp ----

static void is_initialized_run(bd_op_ctx *c)
{
    const bd_resource_handle *h = handle_input(c, 0);
    if (!h) return;
    bd_resource *r;
    BD_STATUS(st);
    bool is_set = false;
    if (bd_resources_lookup(c->step->resources, h->container, h->name, &bd_variable_type, &r, st) ==
        BRAID_OK) {
        braid_tensor value = {0};
        is_set = bd_variable_read(BD_CONTAINER_OF(r, bd_variable, base), &value);
        bd_tensor_fini(&value);
        bd_resource_unref(r);
    }
    braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &BD_SCALAR);
    if (y) bd_tensor_bool(y)[0] = is_set;
}

BD_OP(VarIsInitializedOp) = {
    .signature = "(resource: resource) -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether a resource variable has been assigned.",
};

static braid_code variable_shape_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(bd_shape_ctx_variable(c, 0).rank);
    return BRAID_OK;
}

static void variable_shape_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable(c, 0, BRAID_INVALID);
    if (!v) return;
    bd_mutex_lock(&v->mu);
    bool is_set = bd_tensor_is_set(&v->tensor);
    braid_shape shape = v->tensor.shape;
    bd_mutex_unlock(&v->mu);
    bd_resource_unref(&v->base);
    if (!is_set) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   bd_tensor_handle(bd_input(c, 0))->name);
        return;
    }
    braid_shape vector = bd_shape1(shape.rank);
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &vector);
    for (int d = 0; y && d < shape.rank; d++) {
        if (y->dtype == BRAID_INT64)
            bd_tensor_i64(y)[d] = shape.dims[d];
        else
            bd_tensor_i32(y)[d] = (int32_t)shape.dims[d];
    }
}

BD_OP(VariableShape) = {
    .signature = "(input: resource) -> (output: out_type)",
    .attrs = "out_type:type{int32,int64}=int32",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = variable_shape_shape,
    .kernels = BD_KERNELS({.run = variable_shape_run}),
    .doc = "The shape of a resource variable's value.",
};

static void destroy_run(bd_op_ctx *c)
{
    const bd_resource_handle *h = handle_input(c, 0);
    if (!h) return;
    BD_STATUS(st);
    const char *kind = h->type_name ? h->type_name : bd_variable_type.name;
    braid_code code = bd_resources_delete_kind(c->step->resources, h->container, h->name, kind, st);
    if (code == BRAID_NOT_FOUND && bd_node_attr_bool(c->node, "ignore_lookup_error")) return;
    if (code) bd_op_fail_status(c, st);
}

BD_OP(DestroyResourceOp) = {
    .signature = "(resource: resource) -> ()",
    .attrs = "ignore_lookup_error:bool=true",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.run = destroy_run}),
    .doc = "Takes a resource, a variable or any other, out of its container.",
};
