// Comparison, logic, and selection between two tensors.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/math/string_binary.h"

BD_BINARY(equal, BD_EQUAL)
BD_BINARY(not_equal, BD_NOT_EQUAL)
BD_BINARY(less, BD_LESS)
BD_BINARY(less_equal, BD_LESS_EQUAL)
BD_BINARY(greater, BD_GREATER)
BD_BINARY(greater_equal, BD_GREATER_EQUAL)
BD_BINARY(logical_and, BD_LOG_AND)
BD_BINARY(logical_or, BD_LOG_OR)

// ---- Equal, NotEqual: also of strings ----
//
// Without attr incompatible_shape_error (of TensorFlow 2), tensors that do not broadcast are not equal as a
// whole.

static bool refuses_shapes(const braid_op *node)
{
    return bd_node_attr_bool(node, "incompatible_shape_error");
}

static braid_code equality_shape(bd_shape_ctx *c, braid_status *st)
{
    if (refuses_shapes(c->node)) return bd_shape_fn_broadcast(c, st);
    const braid_shape *x = &c->inputs[0], *y = &c->inputs[1];
    if (!bd_shape_broadcast(x, y, &c->outputs[0])) {
        c->outputs[0] = BD_SCALAR;
    } else if (!bd_shape_is_known(x) || !bd_shape_is_known(y)) {
        c->outputs[0] = BD_SHAPE_UNKNOWN;
    }
    return BRAID_OK;
}

// Fills the output with `differ` if the operands are incompatible and attr incompatible_shape_error is false.
// Returns false if the operands can be compared element by element, or if incompatible shapes are an error.
static bool settled_by_shapes(bd_op_ctx *c, bool differ)
{
    braid_shape ignored;
    if (refuses_shapes(c->node) ||
        bd_shape_broadcast(&bd_input(c, 0)->shape, &bd_input(c, 1)->shape, &ignored))
        return false;
    braid_tensor *z = bd_output(c, 0, BRAID_BOOL, &BD_SCALAR);
    if (z) *bd_tensor_bool(z) = differ;
    return true;
}

#define EQUALITY_RUN(NAME, DIFFER, RUN)                                                                      \
    static void NAME(bd_op_ctx *c)                                                                           \
    {                                                                                                        \
        if (!settled_by_shapes(c, DIFFER)) RUN(c);                                                           \
    }
EQUALITY_RUN(equal_run, false, bd_binary_run)
EQUALITY_RUN(not_equal_run, true, bd_binary_run)
EQUALITY_RUN(strings_equal_run, false, bd_strings_equal_run)
EQUALITY_RUN(strings_not_equal_run, true, bd_strings_not_equal_run)

#define EQUALITY_ATTRS                                                                                       \
    "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,qint32,qint8,"       \
    "quint8,string,uint16,uint32,uint64,uint8}; incompatible_shape_error:bool=true"
#define EQUALITY_KERNELS(NAME)                                                                               \
    BD_KERNELS({.types = BD_NUMBERS "|bool" BD_AND_COMPLEX,                                                  \
                .flags = BD_KERNEL_WIDENS,                                                                   \
                .state_size = sizeof(bd_binary_state),                                                       \
                .create = create_##NAME,                                                                     \
                .run = NAME##_run},                                                                          \
               {.types = "T=string", .run = strings_##NAME##_run})

BD_OP(Equal) = {
    .signature = "(x: T, y: T) -> (z: bool)",
    .attrs = EQUALITY_ATTRS,
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = equality_shape,
    .kernels = EQUALITY_KERNELS(equal),
    .doc = "Whether x == y.",
};

BD_OP(NotEqual) = {
    .signature = "(x: T, y: T) -> (z: bool)",
    .attrs = EQUALITY_ATTRS,
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = equality_shape,
    .kernels = EQUALITY_KERNELS(not_equal),
    .doc = "Whether x != y.",
};

// ---- Order ----

BD_OP(Less) = {
    .signature = "(x: T, y: T) -> (z: bool)",
    .attrs = "T:type{realnumber}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(less, BD_NUMBERS),
    .doc = "Whether x < y.",
};

BD_OP(LessEqual) = {
    .signature = "(x: T, y: T) -> (z: bool)",
    .attrs = "T:type{realnumber}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(less_equal, BD_NUMBERS),
    .doc = "Whether x <= y.",
};

BD_OP(Greater) = {
    .signature = "(x: T, y: T) -> (z: bool)",
    .attrs = "T:type{realnumber}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(greater, BD_NUMBERS),
    .doc = "Whether x > y.",
};

BD_OP(GreaterEqual) = {
    .signature = "(x: T, y: T) -> (z: bool)",
    .attrs = "T:type{realnumber}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(greater_equal, BD_NUMBERS),
    .doc = "Whether x >= y.",
};

// ---- Logic ----

BD_OP(LogicalAnd) = {
    .signature = "(x: bool, y: bool) -> (z: bool)",
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(logical_and, NULL),
    .doc = "Whether both x and y are true.",
};

BD_OP(LogicalOr) = {
    .signature = "(x: bool, y: bool) -> (z: bool)",
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(logical_or, NULL),
    .doc = "Whether x or y is true.",
};

// ---- Select ----

static braid_code select_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *condition = &c->inputs[0];
    braid_shape value;
    if (!bd_shape_merge(&c->inputs[1], &c->inputs[2], &value))
        return bd_shape_ctx_fail(c, st, "'then' and 'else' must have the same size");
    c->outputs[0] = value;
    if (condition->rank <= 0 || value.rank < 0) return BRAID_OK;
    if (condition->rank == 1 && value.rank > 1) { // a vector condition selects rows
        if (condition->dims[0] >= 0 && value.dims[0] >= 0 && condition->dims[0] != value.dims[0])
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)condition->dims[0], (long long)value.dims[0]);
        if (value.dims[0] < 0) c->outputs[0].dims[0] = condition->dims[0];
        return BRAID_OK;
    }
    if (!bd_shape_merge(condition, &value, &c->outputs[0]))
        return bd_shape_ctx_fail(c, st,
                                 "'cond' must be a scalar, a vector of rows or of the shape of 'then'");
    return BRAID_OK;
}

// The gradient flows to the selected tensor.
static void select_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out condition = c->op->inputs[0], grad = c->output_grads[0];
    braid_out zeros = bd_grad_zeros_like(g, c->op->inputs[1]);
    c->input_grads[1] = bd_b3(g, "Select", NULL, condition, grad, zeros);
    c->input_grads[2] = bd_b3(g, "Select", NULL, condition, zeros, grad);
}

// The condition has one value for each element.
static bool fail_elements(bd_op_ctx *c, int differs)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "Inputs to operation %s of type Select must have the same size and shape.  Input 0: %s != input %d: %s",
        c->node->name, bd_shape_str(&bd_input(c, 0)->shape, a), differs,
        bd_shape_str(&bd_input(c, differs)->shape, b));
    return false;
}

// Checks the shapes. Sets *run to the number of elements that share one condition.
static bool check_select(bd_op_ctx *c, int64_t *run)
{
    const braid_shape *condition = &bd_input(c, 0)->shape, *t = &bd_input(c, 1)->shape,
                      *e = &bd_input(c, 2)->shape;
    bool has_rows = condition->rank == 1 && t->rank != 1;
    *run = 1;
    if (condition->rank > 0 && !has_rows) {
        if (!bd_shape_equal(condition, t)) return fail_elements(c, 1);
        return bd_shape_equal(condition, e) || fail_elements(c, 2);
    }
    if (!bd_shape_equal(t, e)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "'then' and 'else' must have the same size.  but received: %s vs. %s", bd_shape_str(t, a),
                   bd_shape_str(e, b));
        return false;
    }
    *run = has_rows && t->rank > 0 ? bd_shape_count_range(t, 1, t->rank) : bd_shape_count(t);
    if (!has_rows) return true;
    if (t->rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "'then' must be at least a vector, but saw shape: []");
        return false;
    }
    if (t->dims[0] == condition->dims[0]) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Number of batches of 'then' must match size of 'cond', but saw: %lld vs. %lld",
               (long long)t->dims[0], (long long)condition->dims[0]);
    return false;
}

// One condition for each run of elements: copies whole runs.
static void select_runs(bd_op_ctx *c, braid_tensor *out, int64_t run)
{
    const bool *condition = bd_tensor_bool(bd_input(c, 0));
    int64_t runs = bd_tensor_count(bd_input(c, 0));
    for (int64_t i = 0; i < runs && !bd_interrupted_at(i); i++)
        bd_elements_copy(out, i * run, bd_input(c, condition[i] ? 1 : 2), i * run, run);
}

static void select_run(bd_op_ctx *c)
{
    const braid_tensor *condition = bd_input(c, 0), *t = bd_input(c, 1), *e = bd_input(c, 2);
    int64_t run;
    if (!check_select(c, &run)) return;
    if (condition->shape.rank == 0) { // a scalar selects a whole tensor
        bd_output_set(c, 0, *bd_tensor_bool(condition) ? t : e);
        return;
    }
    size_t size = braid_dtype_size(t->dtype);
    bool by_element = run == 1 && size > 0 && size <= 8;
    braid_tensor *out = by_element && t->buffer && bd_buffer_is_unique(t->buffer)
                            ? bd_output_forward(c, 0, 1, t->dtype, &t->shape)
                            : bd_output(c, 0, t->dtype, &t->shape);
    if (!out) return;
    if (by_element) {
        bd_select_blocks(bd_tensor_bool(condition), t->data, e->data, out->data, bd_tensor_count(out), size);
    } else {
        select_runs(c, out, run);
    }
}

BD_OP(Select) = {
    .signature = "(condition: bool, t: T, e: T) -> (output: T)",
    .attrs = "T:type",
    .shape = select_shape,
    .gradient = select_gradient,
    .kernels = BD_KERNELS({.run = select_run}),
    .doc =
        "Selects elements of t where the condition is true, else elements of e; the condition is a scalar, a vector that selects rows, or has the shape of t and e.",
};
