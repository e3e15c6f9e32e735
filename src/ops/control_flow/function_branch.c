// Functional conditionals: If and Case call one of several functions.
#include "ops/control_flow/function_ops.h"

#include <string.h>

// ---- Truth ----

static braid_code scalar_truth(const braid_tensor *t, bool *truth, braid_status *st)
{
    switch (t->dtype) {
    case BRAID_BOOL: *truth = *(const bool *)t->data; return BRAID_OK;
    case BRAID_FLOAT: *truth = *(const float *)t->data != 0; return BRAID_OK;
    case BRAID_DOUBLE: *truth = *(const double *)t->data != 0; return BRAID_OK;
    case BRAID_INT32: *truth = *(const int32_t *)t->data != 0; return BRAID_OK;
    case BRAID_INT64: *truth = *(const int64_t *)t->data != 0; return BRAID_OK;
    case BRAID_INT16: *truth = *(const int16_t *)t->data != 0; return BRAID_OK;
    case BRAID_INT8:
    case BRAID_UINT8: *truth = *(const uint8_t *)t->data != 0; return BRAID_OK;
    case BRAID_STRING: *truth = bd_tensor_str(t)->len != 0; return BRAID_OK;
    default:
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s cannot be converted to a bool",
                       braid_dtype_name(t->dtype));
    }
}

braid_code bd_truth(const braid_tensor *t, bool *truth, braid_status *st)
{
    if (t->shape.rank == 0) return scalar_truth(t, truth, st);
    *truth = bd_tensor_count(t) > 0;
    return BRAID_OK;
}

// ---- Shapes ----

braid_code bd_shapes_from_output_shapes(bd_shape_ctx *c, bool *given, braid_status *st)
{
    const bd_attr *shapes = bd_node_attr(c->node, "output_shapes");
    *given = shapes && shapes->list.count > 0;
    if (!*given) return BRAID_OK;
    if (shapes->list.count != c->output_count)
        return bd_shape_ctx_fail(c, st, "`output_shapes` must be the same length as num outputs (%d vs. %d",
                                 shapes->list.count, c->output_count);
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = shapes->list.shape[i];
    return BRAID_OK;
}

static braid_code branch_shape(bd_shape_ctx *c, braid_status *st)
{
    bool given;
    return bd_shapes_from_output_shapes(c, &given, st);
}

// ---- Branches ----

typedef struct branch_state {
    bd_func_ref *branches; // owned [count]
    int count;
} branch_state;

static void branch_destroy(void *state)
{
    branch_state *s = state;
    for (int i = 0; i < s->count; i++)
        bd_func_ref_fini(&s->branches[i]);
    bd_free(s->branches);
}

// ---- If ----

static braid_code if_create(const braid_op *node, void *state, braid_status *st)
{
    branch_state *s = state;
    s->count = 2;
    s->branches = bd_calloc(2, sizeof *s->branches);
    braid_code code = bd_func_ref_read(node, "else_branch", -1, &s->branches[0], st);
    if (!code) code = bd_func_ref_read(node, "then_branch", -1, &s->branches[1], st);
    if (code) branch_destroy(s);
    return code;
}

static void if_start(bd_op_ctx *c)
{
    const branch_state *s = c->state;
    bool truth = false;
    if (bd_truth(bd_input(c, 0), &truth, &c->status))
        bd_op_done(c);
    else
        bd_function_call_with_inputs(c, &s->branches[truth], BD_CALLEE_LOCAL, 1);
}

#define BRANCH_KERNELS(CREATE, START)                                                                        \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS,                                              \
                .state_size = sizeof(branch_state),                                                          \
                .create = CREATE,                                                                            \
                .destroy = branch_destroy,                                                                   \
                .start = START})

#define IF_ATTRS                                                                                             \
    "Tcond:type; Tin:list(type)>=0; Tout:list(type)>=0; then_branch:func; else_branch:func; "                \
    "output_shapes:list(shape)=[]"

BD_OP(If) = {
    .signature = "(cond: Tcond, input: Tin...) -> (output: Tout...)",
    .attrs = IF_ATTRS,
    .flags = BD_OP_STATEFUL,
    .shape = branch_shape,
    .kernels = BRANCH_KERNELS(if_create, if_start),
    .doc = "Calls then_branch if the condition holds, else else_branch.",
};

BD_OP(StatelessIf) = {
    .signature = "(cond: Tcond, input: Tin...) -> (output: Tout...)",
    .attrs = IF_ATTRS,
    .shape = branch_shape,
    .kernels = BRANCH_KERNELS(if_create, if_start),
    .doc = "An If whose branches have no side effects.",
};

// ---- Case ----

static braid_code case_create(const braid_op *node, void *state, braid_status *st)
{
    branch_state *s = state;
    s->count = bd_node_attr(node, "branches")->list.count;
    s->branches = bd_calloc((size_t)s->count, sizeof *s->branches);
    braid_code code = BRAID_OK;
    for (int i = 0; i < s->count && !code; i++)
        code = bd_func_ref_read(node, "branches", i, &s->branches[i], st);
    if (code) branch_destroy(s);
    return code;
}

// An index that is not that of a branch takes the last.
static void case_start(bd_op_ctx *c)
{
    const branch_state *s = c->state;
    const braid_tensor *index = bd_input(c, 0);
    if (index->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Case '%s': branch_index must be scalar", c->node->name);
        bd_op_done(c);
        return;
    }
    const int32_t i = *(const int32_t *)index->data;
    const bd_func_ref *branch = &s->branches[i >= 0 && i < s->count ? i : s->count - 1];
    bd_function_call_with_inputs(c, branch, BD_CALLEE_LOCAL, 1);
}

#define CASE_ATTRS                                                                                           \
    "Tin:list(type)>=0; Tout:list(type)>=0; branches:list(func)>=1; output_shapes:list(shape)=[]"

BD_OP(Case) = {
    .signature = "(branch_index: int32, input: Tin...) -> (output: Tout...)",
    .attrs = CASE_ATTRS,
    .flags = BD_OP_STATEFUL,
    .shape = branch_shape,
    .kernels = BRANCH_KERNELS(case_create, case_start),
    .doc = "Calls the branch of that index, or the last if there is none.",
};

BD_OP(StatelessCase) = {
    .signature = "(branch_index: int32, input: Tin...) -> (output: Tout...)",
    .attrs = CASE_ATTRS,
    .shape = branch_shape,
    .kernels = BRANCH_KERNELS(case_create, case_start),
    .doc = "A Case whose branches have no side effects.",
};

// ---- Conditions ----

static braid_code scalar_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = BD_SCALAR;
    return BRAID_OK;
}

static void to_bool_run(bd_op_ctx *c)
{
    bool truth = false;
    if (bd_truth(bd_input(c, 0), &truth, &c->status)) return;
    braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &BD_SCALAR);
    if (y) *bd_tensor_bool(y) = truth;
}

BD_OP(ToBool) = {
    .signature = "(input: T) -> (output: bool)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalar_shape,
    .kernels = BD_KERNELS({.run = to_bool_run}),
    .doc =
        "Whether If would take the value for true: a scalar that is not 0 or empty, or a tensor of elements.",
};

static void device_index_run(bd_op_ctx *c)
{
    const bd_attr *names = bd_node_attr(c->node, "device_names");
    int i = 0;
    while (i < names->list.count && strcmp(names->list.s[i].data, "CPU") != 0)
        i++;
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) *bd_tensor_i32(y) = i;
}

BD_OP(DeviceIndex) = {
    .signature = "() -> (index: int32)",
    .attrs = "device_names:list(string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalar_shape,
    .kernels = BD_KERNELS({.run = device_index_run}),
    .doc = "The place of the node's type of device, CPU, in a list; the list's length when it is not there.",
};

// ---- FakeParam ----

// A branch of a gradient that does not need a value of the other branch has this placeholder for it. It is
// never read.
static braid_code fake_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_node_attr_shape(c->node, "shape");
    return BRAID_OK;
}

static void fake_run(bd_op_ctx *c)
{
    braid_shape shape = bd_node_attr_shape(c->node, "shape");
    if (shape.rank < 0) shape = BD_SCALAR;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = bd_max(shape.dims[i], 0);
    braid_tensor *out = bd_output(c, 0, c->node->output_types[0], &shape);
    const size_t size = braid_dtype_size(c->node->output_types[0]);
    if (out && size) memset(out->data, 0, bd_tensor_bytes(out));
}

BD_OP(FakeParam) = {
    .signature = "() -> (output: dtype)",
    .attrs = "dtype:type; shape:shape",
    .shape = fake_shape,
    .kernels = BD_KERNELS({.run = fake_run}),
    .doc =
        "A value that is never read, of the type and shape that a branch must return; unknown sizes are 0.",
};
