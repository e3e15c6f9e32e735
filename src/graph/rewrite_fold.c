// Constant folding: a node whose value follows from constants, or from shapes that the graph determines,
// becomes a constant.
//
// A folded node runs its kernel now, once. Its constants have its control inputs, and those of its constant
// inputs, so they are dead where the node would have been and belong to its frame.
//
// The graph does not determine the shape of a feed, of a tensor from another device, or of a variable:
// whatever shape a variable was built with, Assign may change it (validate_shape false), in a run of another
// session too. (TensorFlow folds the shape that a variable was built with, which is wrong in that case.)
// Fusions, whose kernels check again when they run, are given the shapes that variables were built with.
#include "graph/node_resolve.h"
#include "graph/rewrite_internal.h"

#include "base/check.h"
#include "base/interrupt.h"
#include <string.h>

typedef struct folder {
    bd_rewriter *r;
    braid_tensor *inputs, *outputs;
    size_t inputs_cap, outputs_cap;
    bd_op_list controls;
    int64_t left; // bytes that may still be folded
} folder;

// ---- What shapes the graph settles ----

// A feed may have another shape than its placeholder, and shapes from another device were not seen here.
static bool is_shape_unsettled(const braid_op *n)
{
    switch (bd_node_role(n)) {
    case BD_ROLE_ARG:
    case BD_ROLE_RECV:
    case BD_ROLE_PLACEHOLDER:
    case BD_ROLE_MERGE: return true;
    default: return false;
    }
}

// Returns whether its output is a reference to a variable, or was read from one.
static bool looks_at_variable(const braid_op *n)
{
    for (int i = 0; i < n->output_count; i++) {
        if (bd_dtype_is_ref(n->output_types[i])) return true;
    }
    for (int i = 0; i < n->input_count; i++) {
        if (bd_node_role(n->inputs[i].op) == BD_ROLE_VARIABLE) return true;
    }
    return false;
}

static void forget_shapes(braid_op *n)
{
    for (int i = 0; i < n->output_count; i++)
        n->output_shapes[i] = BD_SHAPE_UNKNOWN;
}

static void settle_shapes(braid_op *n, bool variables_too)
{
    BD_STATUS(st);
    forget_shapes(n);
    if (is_shape_unsettled(n) || (!variables_too && looks_at_variable(n))) return;
    if (bd_node_infer_shapes(n, st)) forget_shapes(n);
}

// ---- Which nodes ----

static const braid_tensor *constant_of(braid_out out)
{
    if (bd_node_role(out.op) != BD_ROLE_CONST) return NULL;
    const bd_attr *value = bd_node_attr(out.op, "value");
    return value && value->kind == BD_ATTR_TENSOR ? value->tensor : NULL;
}

// Sets the inputs that the kernel runs over. Metadata ops need only the input's shape, unless the input's
// deadness would be lost: that of one output of a Switch, which a control edge does not carry.
static bool take_inputs(folder *f, const braid_op *n)
{
    bool by_shape = bd_node_role(n) == BD_ROLE_METADATA;
    if (n->input_count == 0) return false;
    f->inputs = (size_t)n->input_count > f->inputs_cap
                    ? bd_array_grow(f->inputs, sizeof *f->inputs, &f->inputs_cap, (size_t)n->input_count)
                    : f->inputs;
    for (int i = 0; i < n->input_count; i++) {
        braid_shape shape = braid_out_shape(n->inputs[i]);
        const braid_tensor *constant = constant_of(n->inputs[i]);
        if (constant)
            f->inputs[i] = *constant; // borrowed
        else if (by_shape && bd_shape_is_known(&shape) && !bd_rewriter_brings_death(n->inputs[i].op))
            f->inputs[i] = (braid_tensor){.dtype = n->input_types[i], .shape = shape};
        else
            return false;
    }
    return true;
}

static int64_t size_of(const braid_tensor *t)
{
    size_t element = braid_dtype_size(t->dtype);
    return t->buffer ? bd_tensor_count(t) * (int64_t)(element ? element : sizeof(bd_string)) : 0;
}

static int64_t bytes_max(const bd_rewriter *r)
{
    int64_t given = bd_rewriter_options(r)->folded_bytes_max;
    return given > 0 ? given : BD_FOLDED_BYTES_MAX;
}

static int64_t limit_of(const folder *f, const braid_op *n)
{
    int64_t bytes = 0;
    for (int i = 0; i < n->input_count; i++)
        bytes += size_of(&f->inputs[i]);
    return bd_min(bd_max(bytes, bytes_max(f->r)), f->left);
}

// Returns false when the shapes tell already that the result is too large.
static bool may_fit(const braid_op *n, int64_t limit)
{
    for (int i = 0; i < n->output_count; i++) {
        const braid_shape *s = &n->output_shapes[i];
        int64_t count;
        BD_STATUS(st);
        if (!bd_shape_is_known(s)) continue;
        if (bd_shape_checked_count(s, &count, st)) return false;
        size_t element = braid_dtype_size(n->output_types[i]);
        if (count > limit / (int64_t)(element ? element : sizeof(bd_string))) return false;
    }
    return true;
}

// ---- Replacing ----

static void add_control(bd_op_list *controls, braid_op *op)
{
    for (size_t i = 0; i < controls->len; i++) {
        if (controls->items[i] == op) return;
    }
    bd_array_push(controls, op);
}

static void take_controls(folder *f, const braid_op *n)
{
    f->controls.len = 0;
    for (int i = 0; i < n->control_count; i++)
        add_control(&f->controls, n->controls[i]);
    for (int i = 0; i < n->input_count; i++) {
        braid_op *from = n->inputs[i].op;
        if (!constant_of(n->inputs[i])) {
            if (bd_rewriter_is_ordered(f->r, from)) add_control(&f->controls, from);
            continue;
        }
        for (int k = 0; k < from->control_count; k++)
            add_control(&f->controls, from->controls[k]);
    }
}

static bd_node_spec spec_of(const folder *f, const braid_tensor *value, bd_named_attr attrs[2])
{
    attrs[0] = (bd_named_attr){.name = "dtype", .value = {.kind = BD_ATTR_TYPE, .type = value->dtype}};
    attrs[1] =
        (bd_named_attr){.name = "value", .value = {.kind = BD_ATTR_TENSOR, .tensor = (braid_tensor *)value}};
    return (bd_node_spec){.op_type = "Const",
                          .controls = f->controls.items,
                          .control_count = (int)f->controls.len,
                          .attrs = attrs,
                          .attr_count = 2};
}

static braid_code become_constant(folder *f, braid_op *n, braid_status *st)
{
    bd_named_attr attrs[2];
    bd_node_spec spec = spec_of(f, &f->outputs[0], attrs);
    n->output_shapes[0] = f->outputs[0].shape;
    return bd_rewriter_become(f->r, n, &spec, st);
}

static bool is_output_used(folder *f, const braid_op *n, int output)
{
    int count;
    const bd_consumer *consumers = bd_rewriter_consumers(f->r, n, &count);
    for (int i = 0; i < count; i++) {
        if (consumers[i].output == output) return true;
    }
    return false;
}

// Replaces a node of several outputs by a constant for each; the node's successors run after the first.
static braid_code split_into_constants(folder *f, braid_op *n, braid_status *st)
{
    braid_op *first = NULL;
    for (int i = 0; i < n->output_count; i++) {
        if (first && !is_output_used(f, n, i)) continue;
        bd_named_attr attrs[2];
        bd_node_spec spec = spec_of(f, &f->outputs[i], attrs);
        spec.name = bd_graph_unique_name(f->r->graph, n->name);
        spec.device = n->device;
        spec.assigned_device = n->assigned_device;
        braid_op *constant;
        braid_code code = bd_rewriter_add(f->r, &spec, &constant, st);
        if (code) return code;
        if (!first) first = constant;
        bd_rewriter_move_output(f->r, (braid_out){n, i}, (braid_out){constant, 0});
    }
    BD_ASSERT(first);
    bd_rewriter_move_controls(f->r, n, first);
    bd_rewriter_remove(f->r, n);
    return BRAID_OK;
}

static bool fits(folder *f, const braid_op *n, int64_t limit)
{
    int64_t bytes = 0;
    for (int i = 0; i < n->output_count; i++) {
        if (f->outputs[i].dtype != n->output_types[i]) return false;
        bytes += size_of(&f->outputs[i]);
    }
    if (bytes > limit) return false;
    f->left -= bytes;
    return true;
}

static braid_code fold(folder *f, braid_op *n, int64_t limit, braid_status *st)
{
    if (n->output_count == 0) return BRAID_OK;
    f->outputs = (size_t)n->output_count > f->outputs_cap
                     ? bd_array_grow(f->outputs, sizeof *f->outputs, &f->outputs_cap, (size_t)n->output_count)
                     : f->outputs;
    BD_ASSERT(f->outputs);
    memset(f->outputs, 0, (size_t)n->output_count * sizeof *f->outputs);
    BD_STATUS(refused); // a run that reaches the node fails, or takes its time
    if (f->r->options->evaluate(n, f->inputs, f->outputs, refused)) return BRAID_OK;
    braid_code code = BRAID_OK;
    if (fits(f, n, limit)) {
        take_controls(f, n);
        code = n->output_count == 1 ? become_constant(f, n, st) : split_into_constants(f, n, st);
    }
    for (int i = 0; i < n->output_count; i++)
        bd_tensor_fini(&f->outputs[i]);
    return code;
}

braid_code bd_rewrite_fold(bd_rewriter *r, braid_status *st)
{
    folder f = {.r = r, .left = BD_FOLDED_TOTAL * bytes_max(r)};
    braid_code code = BRAID_OK;
    if (!r->options->evaluate) return BRAID_OK;
    const int64_t ns_max = r->options->folding_ns_max;
    // The step on whose thread this may be does not interrupt it: a constant outlives the step.
    const bd_interruption before = bd_interrupt_after(ns_max > 0 ? ns_max : BD_FOLDING_NS_MAX);
    for (size_t i = 0; !code && i < r->order.len; i++) {
        braid_op *n = r->order.items[i];
        settle_shapes(n, false);
        if (bd_node_role(n) == BD_ROLE_CONST || !bd_rewriter_is_pure(n) || !take_inputs(&f, n)) continue;
        int64_t limit = limit_of(&f, n);
        if (may_fit(n, limit) && !bd_interrupted()) code = fold(&f, n, limit, st);
    }
    bd_interrupt_restore(before);
    for (size_t i = 0; !code && i < r->order.len; i++)
        settle_shapes(r->order.items[i], true);
    bd_free(f.inputs);
    bd_free(f.outputs);
    bd_array_free(&f.controls);
    return code;
}
