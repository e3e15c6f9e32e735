// Ops that make, save, restore and describe the ensembles of tf.contrib.boosted_trees.
#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"
#include "ops/gradient_trees/ensemble.h"

// Only names the resource.
static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &bd_gbt_ensemble_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &bd_gbt_ensemble_type);
}

// Reads the stamp and the message in inputs 1 and 2. False: the kernel has failed.
static bool read_inputs(bd_op_ctx *c, int64_t *stamp, bd_gbt_ensemble *e)
{
    BD_STATUS(st);
    const bd_string *config;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", stamp) ||
        !bd_gbt_input_message(c, 2, "tree_ensemble_config", &config))
        return false;
    if (!bd_gbt_ensemble_read(e, config->data, config->len, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

typedef struct made_ensemble {
    int64_t stamp;
    bd_gbt_ensemble ensemble;
} made_ensemble;

static braid_code create_ensemble(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    made_ensemble *made = arg;
    bd_gbt_ensemble_resource *e = bd_calloc(1, sizeof *e);
    bd_resource_init(&e->base, &bd_gbt_ensemble_type);
    bd_mutex_init(&e->mu);
    e->stamp = made->stamp;
    e->ensemble = made->ensemble;
    made->ensemble = (bd_gbt_ensemble){0};
    *out = &e->base;
    return BRAID_OK;
}

// An ensemble that exists already stays as it is.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    made_ensemble made = {0};
    char *container, *name;
    if (!bd_boosted_trees_handle(c, &bd_gbt_ensemble_type, &container, &name)) return;
    if (read_inputs(c, &made.stamp, &made.ensemble)) {
        bd_resource *r = NULL;
        const bd_resource_spec spec = {container, name, &bd_gbt_ensemble_type, create_ensemble, &made};
        if (bd_resources_lookup_or_create(c->step->resources, &spec, &r, st)) bd_op_fail_status(c, st);
        bd_resource_unref(r);
    }
    bd_gbt_ensemble_fini(&made.ensemble);
    bd_free(container);
    bd_free(name);
}

static void deserialize_run(bd_op_ctx *c)
{
    int64_t stamp;
    bd_gbt_ensemble read = {0};
    bd_gbt_ensemble_resource *e = bd_gbt_input_ensemble(c);
    if (!e) return;
    if (read_inputs(c, &stamp, &read)) {
        bd_mutex_lock(&e->mu);
        const bd_gbt_ensemble old = e->ensemble;
        e->ensemble = read;
        e->stamp = stamp;
        bd_mutex_unlock(&e->mu);
        read = old;
    }
    bd_gbt_ensemble_fini(&read);
    bd_resource_unref(&e->base);
}

static void stamp_run(bd_op_ctx *c)
{
    bd_gbt_ensemble_resource *e = bd_gbt_input_ensemble(c);
    if (!e) return;
    bd_mutex_lock(&e->mu);
    bd_gbt_output_int64(c, 0, e->stamp);
    bd_gbt_release(e);
}

static void serialize_run(bd_op_ctx *c)
{
    bd_gbt_ensemble_resource *e = bd_gbt_input_ensemble(c);
    if (!e) return;
    const braid_tensor *y = bd_output(c, 1, BRAID_STRING, &BD_SCALAR);
    bd_mutex_lock(&e->mu);
    if (y && bd_gbt_output_int64(c, 0, e->stamp))
        bd_output_message(c, y, 0, bd_gbt_emit_ensemble, &e->ensemble);
    bd_gbt_release(e);
}

// ---- What is used ----

static void mark_used(bd_op_ctx *c, const bd_gbt_ensemble *e, bool *mask, int64_t count)
{
    size_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        mask[i] = at < e->used_handlers.len && e->used_handlers.items[at] <= i;
        if (!mask[i]) continue;
        if (e->used_handlers.items[at] < i) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Handler IDs should be sorted.");
            return;
        }
        at++;
    }
}

static void used_handlers_run(bd_op_ctx *c)
{
    bd_gbt_ensemble_resource *e = bd_gbt_lock_stamped(c, 0);
    if (!e) return;
    const braid_shape shape = bd_shape1(bd_node_attr_int(c->node, "num_all_handlers"));
    const braid_tensor *y = bd_output(c, 1, BRAID_BOOL, &shape);
    if (y && bd_gbt_output_int64(c, 0, (int64_t)e->ensemble.used_handlers.len))
        mark_used(c, &e->ensemble, bd_tensor_bool(y), shape.dims[0]);
    bd_gbt_release(e);
}

static void stats_run(bd_op_ctx *c)
{
    bd_gbt_ensemble_resource *r = bd_gbt_lock_stamped(c, 0);
    if (!r) return;
    const bd_gbt_ensemble *e = &r->ensemble;
    const int64_t trees = (int64_t)e->trees.len;
    int64_t layers = 0;
    for (size_t i = 0; i < e->metadata.len; i++)
        layers += e->metadata.items[i].layers;
    const int64_t numbers[] = {bd_gbt_begins_tree(e) ? trees : trees - 1,
                               layers,
                               trees,
                               e->metadata.len > 0 ? e->metadata.items[e->metadata.len - 1].layers : 0,
                               e->trees_attempted,
                               e->layers_attempted};
    for (int i = 0; i < (int)BD_COUNTOF(numbers); i++)
        bd_gbt_output_int64(c, i, numbers[i]);
    bd_gbt_release(r);
}

// ---- Definitions ----

// All inputs and outputs are scalars.
static braid_code scalars_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SCALAR;
    return bd_shape_ctx_ranks(c, 0, c->input_count, 0, st);
}

static braid_code used_handlers_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    c->outputs[1] = bd_shape1(bd_node_attr_int(c->node, "num_all_handlers"));
    return bd_shape_ctx_rank(c, 0, 0, st);
}

#define HANDLE "tree_ensemble_handle: resource"

BD_OP(DecisionTreeEnsembleResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to an ensemble of trees of tf.contrib.boosted_trees.",
};

BD_OP(TreeEnsembleIsInitializedOp) = {
    .signature = "(" HANDLE ") -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the ensemble exists.",
};

BD_OP(CreateTreeEnsembleVariable) = {
    .signature = "(" HANDLE ", stamp_token: int64, tree_ensemble_config: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = create_run}),
    .doc = "Makes the ensemble of a serialized DecisionTreeEnsembleConfig, unless it exists.",
};

BD_OP(TreeEnsembleStampToken) = {
    .signature = "(" HANDLE ") -> (stamp_token: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = stamp_run}),
    .doc = "The stamp of the ensemble, which each change replaces.",
};

BD_OP(TreeEnsembleSerialize) = {
    .signature = "(" HANDLE ") -> (stamp_token: int64, tree_ensemble_config: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "The stamp, and the ensemble as a serialized DecisionTreeEnsembleConfig.",
};

BD_OP(TreeEnsembleDeserialize) = {
    .signature = "(" HANDLE ", stamp_token: int64, tree_ensemble_config: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = deserialize_run}),
    .doc = "Replaces the ensemble by a serialized DecisionTreeEnsembleConfig.",
};

BD_OP(TreeEnsembleUsedHandlers) = {
    .signature = "(" HANDLE ", stamp_token: int64) -> (num_used_handlers: int64, used_handlers_mask: bool)",
    .attrs = "num_all_handlers:int>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = used_handlers_shape,
    .kernels = BD_KERNELS({.run = used_handlers_run}),
    .doc = "Which handlers of feature columns the trees use, and how many.",
    .deviation = "TensorFlow ends the process for a stamp other than the ensemble's.",
};

BD_OP(TreeEnsembleStats) = {
    .signature = "(" HANDLE
                 ", stamp_token: int64) -> (num_trees: int64, num_layers: int64, active_tree: int64, "
                 "active_layer: int64, attempted_trees: int64, attempted_layers: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = stats_run}),
    .doc =
        "The numbers of finished trees, of layers, of trees, of layers of the last tree, and of trees and layers "
        "that were attempted, pruned ones included.",
    .deviation = "TensorFlow ends the process for a stamp other than the ensemble's.",
};
