// Variables: the node, its read, its initializer, and its collections.
#include "train/variables/variable_internal.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_store.h"
#include <braid/ops.h>
#include <string.h>

braid_out train_read(braid_graph *g, const char *name, braid_out ref, braid_dtype dtype)
{
    if (train_kind_of(ref) == TRAIN_REFERENCE) return braid_identity(g, name, ref);
    braid_op_desc *d = braid_op_begin(g, "ReadVariableOp", name);
    braid_op_input(d, ref);
    braid_op_attr_type(d, "dtype", dtype);
    return braid_op_end_out(d);
}

// Begins the node of a variable, called as its scope.
static braid_op_desc *begin_variable(braid_graph *g, const char *op_type, const char *scope,
                                     const braid_out *initial_value, const char *place_class)
{
    braid_op_desc *d = braid_op_begin(g, op_type, scope);
    braid_op_attr_type(d, "dtype", train_base_dtype(braid_out_dtype(*initial_value)));
    braid_op_attr_shape(d, "shape", braid_out_shape(*initial_value));
    if (place_class) {
        char *entry = bd_asprintf("loc:@%s", place_class);
        const char *entries[] = {entry};
        braid_op_attr_string_list(d, "_class", entries, 1);
        bd_free(entry);
    }
    return d;
}

static void reference_nodes(braid_graph *g, const char *scope, const char *place_class, braid_variable *v)
{
    v->ref = braid_op_end_out(begin_variable(g, "VariableV2", scope, &v->initial_value, place_class));
    v->initializer = braid_assign(g, v->ref, v->initial_value).op;
    if (!v->ref.op) return;
    braid_push_colocate(g, v->ref.op);
    v->read = train_read(g, "read", v->ref, BRAID_INVALID);
    braid_pop_colocate(g);
}

static void resource_nodes(braid_graph *g, const char *scope, const char *place_class, braid_variable *v)
{
    char *name = train_scope_name(scope);
    braid_op_desc *d = begin_variable(g, "VarHandleOp", scope, &v->initial_value, place_class);
    braid_op_attr_string(d, "shared_name", name);
    v->ref = braid_op_end_out(d);
    bd_free(name);
    if (!v->ref.op) return;
    (void)braid_push_name_scope(g, "IsInitialized");
    train_node1(g, "VarIsInitializedOp", NULL, v->ref);
    braid_pop_name_scope(g);

    braid_push_colocate(g, v->ref.op);
    v->initializer = train_node2(g, "AssignVariableOp", "Assign", v->ref, v->initial_value).op;
    (void)braid_push_name_scope(g, "Read");
    v->read = train_read(g, NULL, v->ref, train_base_dtype(braid_out_dtype(v->initial_value)));
    braid_pop_name_scope(g);
    braid_pop_colocate(g);
}

braid_variable train_make_one(braid_graph *g, const char *scope, braid_out initial_value,
                              const train_variable_spec *spec)
{
    braid_variable v = {0};
    if (!initial_value.op) return v;
    if (braid_shape_num_elements(braid_out_shape(initial_value)) < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Variable '%.*s': the shape of its initial value '%s' is not fully known",
                         (int)strcspn(scope, "/"), scope, braid_op_name(initial_value.op));
        return v;
    }
    v.initial_value = initial_value;
    (spec->kind == TRAIN_RESOURCE ? resource_nodes : reference_nodes)(g, scope, spec->place_class, &v);
    if (v.ref.op) {
        const char *all = train_store_of(g)->makes_local ? BRAID_LOCAL_VARIABLES : BRAID_GLOBAL_VARIABLES;
        braid_collect(g, spec->collection ? spec->collection : all, v.ref);
        if (spec->trainable) braid_collect(g, BRAID_TRAINABLE_VARIABLES, v.ref);
    }
    return v;
}

// A copy of a shared variable, beside the node `at`. It gets its value in each new session.
static braid_variable make_copy(braid_graph *g, braid_variable centre, train_variable_kind kind, braid_op *at)
{
    if (!centre.read.op) return (braid_variable){0};
    char *name = bd_asprintf("local/%s", braid_op_name(centre.ref.op));
    (void)braid_push_name_scope(g, NULL);
    const char *scope = braid_push_name_scope(g, name);
    braid_push_control(g, NULL, 0);
    braid_push_colocate(g, at);
    const train_variable_spec spec = {.kind = kind, .trainable = true, .collection = BRAID_LOCAL_VARIABLES};
    const braid_variable v = train_make_one(g, scope, centre.read, &spec);
    braid_pop_colocate(g);
    braid_pop_control(g);
    braid_pop_name_scope(g);
    braid_pop_name_scope(g);
    bd_free(name);
    if (v.ref.op)
        bd_array_push(&train_store_of(g)->copies, ((train_copy){.copy = v.ref, .centre = centre.ref}));
    return v;
}

braid_variable train_make_variable(braid_graph *g, const char *scope, braid_out initial_value,
                                   const train_variable_spec *spec)
{
    braid_op *at = train_store_of(g)->copies_at;
    if (train_store_of(g)->replicas) return train_make_in_replica(g, scope, initial_value, spec);
    if (!spec->trainable || !at) return train_make_one(g, scope, initial_value, spec);
    train_variable_spec shared = *spec;
    shared.trainable = false;
    return make_copy(g, train_make_one(g, scope, initial_value, &shared), spec->kind, at);
}

braid_variable train_local_variable(braid_graph *g, const char *name, const braid_tensor *value)
{
    const char *scope = braid_push_name_scope(g, name);
    const train_variable_spec spec = {.collection = BRAID_LOCAL_VARIABLES};
    braid_variable v = train_make_variable(g, scope, braid_const(g, "initial_value", value), &spec);
    braid_pop_name_scope(g);
    return v;
}

braid_op *train_assign_restored(braid_graph *g, braid_out ref, braid_out value)
{
    if (!ref.op || !value.op) return NULL;
    braid_push_colocate(g, ref.op);
    braid_op *node;
    if (train_kind_of(ref) == TRAIN_RESOURCE)
        node = train_node2(g, "AssignVariableOp", NULL, ref, braid_identity(g, NULL, value)).op;
    else
        node = braid_assign(g, ref, value).op;
    braid_pop_colocate(g);
    return node;
}

static braid_variable variable_of_kind(braid_graph *g, train_variable_kind kind, const char *name,
                                       braid_out initial_value, bool trainable)
{
    const char *scope = braid_push_name_scope(g, name ? name : "Variable");
    const train_variable_spec spec = {.kind = kind, .trainable = trainable};
    braid_variable v = train_make_variable(g, scope, initial_value, &spec);
    braid_pop_name_scope(g);
    return v;
}

braid_variable braid_variable_new(braid_graph *g, const char *name, braid_out initial_value, bool trainable)
{
    return variable_of_kind(g, TRAIN_REFERENCE, name, initial_value, trainable);
}

braid_variable braid_variable_resource(braid_graph *g, const char *name, braid_out initial_value,
                                       bool trainable)
{
    return variable_of_kind(g, TRAIN_RESOURCE, name, initial_value, trainable);
}

braid_variable braid_variable_of(braid_graph *g, const char *name, const braid_tensor *value, bool trainable)
{
    const char *scope = braid_push_name_scope(g, name ? name : "Variable");
    const train_variable_spec spec = {.trainable = trainable};
    braid_variable v = train_make_variable(g, scope, braid_const(g, "initial_value", value), &spec);
    braid_pop_name_scope(g);
    return v;
}

braid_variable braid_variable_find(braid_out ref)
{
    braid_variable v = {.ref = ref};
    if (!ref.op) return v;
    braid_graph *g = braid_op_graph(ref.op);
    char *assign = bd_asprintf("%s/Assign", braid_op_name(ref.op));
    const char *read_name = train_kind_of(ref) == TRAIN_RESOURCE ? "Read/ReadVariableOp" : "read";
    char *read = bd_asprintf("%s/%s", braid_op_name(ref.op), read_name);
    const train_initializer *other = train_initializer_of(g, ref);
    v.initializer = other ? other->op : braid_graph_find(g, assign);
    v.read = braid_graph_find_out(g, read);
    if (other)
        v.initial_value = other->value;
    else if (v.initializer && braid_op_num_inputs(v.initializer) > 1)
        v.initial_value = braid_op_get_input(v.initializer, 1);
    bd_free(assign);
    bd_free(read);
    return v;
}
