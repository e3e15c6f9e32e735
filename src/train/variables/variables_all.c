// All variables of a graph: initializing them, listing uninitialized ones, the global step.
#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"

#include <braid/ops.h>
#include <braid/variables.h>
#include <string.h>

// ---- Initializing ----

static braid_op *initialize(braid_graph *g, const char *collection)
{
    int count;
    const braid_out *vars = braid_collection(g, collection, &count);
    if (count == 0) return braid_no_op(g, "init");
    braid_op **ops = bd_calloc((size_t)count, sizeof(braid_op *));
    for (int i = 0; i < count; i++) {
        ops[i] = braid_variable_find(vars[i]).initializer;
        if (!ops[i])
            braid_graph_fail(g, BRAID_NOT_FOUND, "Variable '%s' has no initializer '%s/Assign'",
                             braid_op_name(vars[i].op), braid_op_name(vars[i].op));
    }
    braid_op *init = braid_group(g, "init", ops, count);
    bd_free(ops);
    return init;
}

braid_op *braid_global_variables_initializer(braid_graph *g)
{
    return initialize(g, BRAID_GLOBAL_VARIABLES);
}

braid_op *braid_local_variables_initializer(braid_graph *g)
{
    return initialize(g, BRAID_LOCAL_VARIABLES);
}

// ---- Which have no value ----

static braid_out const_ints(braid_graph *g, const char *name, int32_t value)
{
    return braid_const_int32s(g, name, &value, 1);
}

// x[:1] (`begin_mask` 1) or x[1:] (`end_mask` 1) of a vector.
static braid_out slice_at_one(braid_graph *g, braid_out x, bool head)
{
    const char *scope = braid_push_name_scope(g, "strided_slice");
    braid_out begin = const_ints(g, "stack", head ? 0 : 1);
    braid_out end = const_ints(g, "stack_1", head ? 1 : 0);
    braid_out stride = const_ints(g, "stack_2", 1);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", scope);
    braid_op_input(d, x);
    braid_op_input(d, begin);
    braid_op_input(d, end);
    braid_op_input(d, stride);
    braid_op_attr_int(d, "begin_mask", head ? 1 : 0);
    braid_op_attr_int(d, "end_mask", head ? 0 : 1);
    return braid_op_end_out(d);
}

// [leading_size] + rest, the shape of x with the mask's dimensions made one.
static braid_out masked_shape(braid_graph *g, braid_out leading_size, braid_out rest)
{
    const char *scope = braid_push_name_scope(g, "concat");
    braid_out parts[] = {train_stack(g, "values_0", &leading_size, 1), rest};
    braid_out axis = braid_const_int32(g, "axis", 0);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
    braid_op_input_list(d, parts, 2);
    braid_op_input(d, axis);
    return braid_op_end_out(d);
}

// tf.boolean_mask of a vector of `size` elements: those of `x` where `mask` is true.
static braid_out boolean_mask(braid_graph *g, braid_out x, braid_out mask, int size)
{
    (void)braid_push_name_scope(g, "boolean_mask");
    braid_out head = slice_at_one(g, const_ints(g, "Shape", size), true);
    const int32_t axis = 0;
    braid_out leading_size = braid_reduce(g, "Prod", head, &axis, 1, false);
    braid_out rest = slice_at_one(g, const_ints(g, "Shape", size), false);
    braid_out flat = train_node2(g, "Reshape", NULL, x, masked_shape(g, leading_size, rest));

    const char *scope = braid_push_name_scope(g, "Reshape");
    braid_out minus_one = const_ints(g, "shape", -1);
    braid_pop_name_scope(g);
    braid_out flat_mask = train_node2(g, "Reshape", scope, mask, minus_one);
    braid_op_desc *d = braid_op_begin(g, "Squeeze", NULL);
    braid_op_input(d, train_node1(g, "Where", NULL, flat_mask));
    const int64_t squeezed[] = {1};
    braid_op_attr_int_list(d, "squeeze_dims", squeezed, 1);
    braid_out masked = train_node2(g, "Gather", NULL, flat, braid_op_end_out(d));
    braid_pop_name_scope(g);
    return masked;
}

static braid_out empty_names(braid_graph *g)
{
    const int64_t dims[] = {0};
    braid_tensor *none = braid_tensor_new(BRAID_STRING, braid_shape_make(1, dims), NULL);
    braid_out out = braid_const(g, NULL, none);
    braid_tensor_free(none);
    return out;
}

static braid_out names_of(braid_graph *g, const braid_out *vars, int count)
{
    const int64_t dims[] = {count};
    braid_tensor *names = braid_tensor_new(BRAID_STRING, braid_shape_make(1, dims), NULL);
    for (int i = 0; i < count; i++) {
        const char *name = braid_op_name(vars[i].op);
        braid_tensor_set_string(names, i, name, strlen(name));
    }
    braid_out out = braid_const(g, NULL, names);
    braid_tensor_free(names);
    return out;
}

static braid_out not_initialized(braid_graph *g, const braid_out *vars, int count)
{
    braid_out *flags = bd_calloc((size_t)count, sizeof *flags);
    for (int i = 0; i < count; i++) {
        braid_push_colocate(g, vars[i].op);
        const char *op_type =
            train_kind_of(vars[i]) == TRAIN_RESOURCE ? "VarIsInitializedOp" : "IsVariableInitialized";
        flags[i] = train_node1(g, op_type, NULL, vars[i]);
        braid_pop_colocate(g);
    }
    braid_out all = train_stack(g, "stack", flags, count);
    bd_free(flags);
    return train_node1(g, "LogicalNot", NULL, all);
}

static braid_out report(braid_graph *g, const braid_out *vars, int count)
{
    (void)braid_push_name_scope(g, "report_uninitialized_variables");
    braid_out names;
    if (count == 0) {
        names = empty_names(g);
    } else {
        braid_out mask = not_initialized(g, vars, count);
        names = boolean_mask(g, names_of(g, vars, count), mask, count);
    }
    braid_pop_name_scope(g);
    return names;
}

braid_out braid_report_uninitialized_variables(braid_graph *g)
{
    int globals, locals;
    const braid_out *list = braid_collection(g, BRAID_GLOBAL_VARIABLES, &globals);
    braid_out *vars = bd_calloc((size_t)globals, sizeof *vars);
    if (globals) memcpy(vars, list, (size_t)globals * sizeof *vars);
    list = braid_collection(g, BRAID_LOCAL_VARIABLES, &locals);
    vars = bd_realloc(vars, (size_t)(globals + locals) * sizeof *vars);
    if (locals) memcpy(vars + globals, list, (size_t)locals * sizeof *vars);
    braid_out names = report(g, vars, globals + locals);
    bd_free(vars);
    return names;
}

braid_out train_report_uninitialized_globals(braid_graph *g)
{
    int count;
    const braid_out *vars = braid_collection(g, BRAID_GLOBAL_VARIABLES, &count);
    return report(g, vars, count);
}

// ---- The global step ----

braid_out braid_find_global_step(const braid_graph *g)
{
    int count;
    const braid_out *steps = braid_collection(g, BRAID_GLOBAL_STEP, &count);
    if (count > 0) return steps[0];
    return braid_graph_find_out(g, "global_step");
}

braid_out braid_global_step(braid_graph *g)
{
    braid_out step = braid_find_global_step(g);
    if (step.op) return step;
    const braid_variable_options options = {.dtype = BRAID_INT64, .untrained = true};
    step = train_variable_at(g, "global_step", &options, &(braid_variable_scope_options){0}).ref;
    if (step.op) braid_collect(g, BRAID_GLOBAL_STEP, step);
    return step;
}
