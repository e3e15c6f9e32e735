// Variables: the node, its read, its initializer, and the collections it is in.
#include "train/variable_internal.h"

#include "base/alloc.h"
#include "train/build.h"
#include <braid/ops.h>
#include <string.h>

static braid_out variable_node(braid_graph *g, const char *scope, braid_dtype dtype, braid_shape shape,
                               const char *place_class)
{
    braid_op_desc *d = braid_op_begin(g, "VariableV2", scope);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", shape);
    if (place_class) {
        char *entry = bd_asprintf("loc:@%s", place_class);
        const char *entries[] = {entry};
        braid_op_attr_string_list(d, "_class", entries, 1);
        bd_free(entry);
    }
    return braid_op_end_out(d);
}

braid_variable train_make_variable(braid_graph *g, const char *scope, braid_out initial_value, bool trainable,
                                   const char *place_class)
{
    braid_variable v = {0};
    if (!initial_value.op) return v;
    braid_shape shape = braid_out_shape(initial_value);
    if (braid_shape_num_elements(shape) < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Variable '%.*s': the shape of its initial value '%s' is not fully known",
                         (int)strcspn(scope, "/"), scope, braid_op_name(initial_value.op));
        return v;
    }
    v.initial_value = initial_value;
    v.ref = variable_node(g, scope, train_base_dtype(braid_out_dtype(initial_value)), shape, place_class);
    v.initializer = braid_assign(g, v.ref, initial_value).op;
    if (v.ref.op) {
        braid_push_colocate(g, v.ref.op);
        v.read = braid_identity(g, "read", v.ref);
        braid_pop_colocate(g);
        braid_collect(g, BRAID_GLOBAL_VARIABLES, v.ref);
        if (trainable) braid_collect(g, BRAID_TRAINABLE_VARIABLES, v.ref);
    }
    return v;
}

braid_variable braid_variable_new(braid_graph *g, const char *name, braid_out initial_value, bool trainable)
{
    const char *scope = braid_push_name_scope(g, name ? name : "Variable");
    braid_variable v = train_make_variable(g, scope, initial_value, trainable, NULL);
    braid_pop_name_scope(g);
    return v;
}

braid_variable braid_variable_of(braid_graph *g, const char *name, const braid_tensor *value, bool trainable)
{
    const char *scope = braid_push_name_scope(g, name ? name : "Variable");
    braid_variable v = train_make_variable(g, scope, braid_const(g, "initial_value", value), trainable, NULL);
    braid_pop_name_scope(g);
    return v;
}

braid_variable braid_variable_get(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape,
                                  braid_initializer initializer, bool trainable)
{
    const char *scope = braid_push_name_scope(g, name);
    if (!scope) return (braid_variable){0};
    char *full_name = train_scope_name(scope);
    size_t asked = strlen(name), got = strlen(full_name);
    if (got < asked || strcmp(full_name + got - asked, name) != 0)
        braid_graph_fail(g, BRAID_ALREADY_EXISTS, "Variable '%s' cannot be made: a node of that name exists",
                         name);

    (void)braid_push_name_scope(g, "Initializer");
    braid_push_colocate_name(g, full_name);
    braid_out first = initializer.build(&initializer, g, dtype, shape);
    braid_pop_colocate(g);
    braid_pop_name_scope(g);

    braid_variable v = train_make_variable(g, scope, first, trainable, full_name);
    braid_pop_name_scope(g);
    bd_free(full_name);
    return v;
}

braid_variable braid_variable_find(braid_out ref)
{
    braid_variable v = {.ref = ref};
    if (!ref.op) return v;
    braid_graph *g = braid_op_graph(ref.op);
    char *assign = bd_asprintf("%s/Assign", braid_op_name(ref.op));
    char *read = bd_asprintf("%s/read", braid_op_name(ref.op));
    v.initializer = braid_graph_find(g, assign);
    v.read = braid_graph_find_out(g, read);
    if (v.initializer && braid_op_num_inputs(v.initializer) > 1)
        v.initial_value = braid_op_get_input(v.initializer, 1);
    bd_free(assign);
    bd_free(read);
    return v;
}
