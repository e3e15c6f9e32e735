// Ops that make, save and restore ensembles of boosted trees, and tell how far one has grown.
#include "base/alloc.h"
#include "base/check.h"
#include "ops/boosted_trees/ensemble.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"

// Only names the resource.
static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &bd_ensemble_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &bd_ensemble_type);
}

// Reads inputs 1 and 2, the stamp and the serialized ensemble. False: the kernel has failed.
static bool read_inputs(bd_op_ctx *c, int64_t *stamp, bd_forest *forest)
{
    BD_STATUS(st);
    for (int i = 1; i <= 2; i++) {
        if (bd_input(c, i)->shape.rank == 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, got shape %s",
                   i == 1 ? "stamp_token" : "tree_ensemble_serialized",
                   bd_shape_str(&bd_input(c, i)->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    *stamp = bd_tensor_i64(bd_input(c, 1))[0];
    const bd_string *s = &bd_tensor_str(bd_input(c, 2))[0];
    if (!bd_forest_read(forest, s->data, s->len, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

static braid_code create_ensemble(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    bd_ensemble *made = arg, *e = bd_calloc(1, sizeof *e);
    bd_resource_init(&e->base, &bd_ensemble_type);
    bd_mutex_init(&e->mu);
    e->stamp = made->stamp;
    e->forest = made->forest;
    made->forest = (bd_forest){0};
    *out = &e->base;
    return BRAID_OK;
}

// An ensemble that exists already stays as it is.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_ensemble made = {0};
    char *container, *name;
    if (!bd_boosted_trees_handle(c, &bd_ensemble_type, &container, &name)) return;
    if (read_inputs(c, &made.stamp, &made.forest)) {
        bd_resource *r = NULL;
        const bd_resource_spec spec = {container, name, &bd_ensemble_type, create_ensemble, &made};
        if (bd_resources_lookup_or_create(c->step->resources, &spec, &r, st)) bd_op_fail_status(c, st);
        bd_resource_unref(r);
    }
    bd_forest_fini(&made.forest);
    bd_free(container);
    bd_free(name);
}

static void deserialize_run(bd_op_ctx *c)
{
    bd_ensemble *e = bd_input_ensemble(c);
    int64_t stamp;
    bd_forest forest = {0};
    if (e && read_inputs(c, &stamp, &forest)) {
        bd_mutex_lock(&e->mu);
        const bd_forest old = e->forest;
        e->forest = forest;
        e->stamp = stamp;
        bd_mutex_unlock(&e->mu);
        forest = old;
    }
    bd_forest_fini(&forest);
    if (e) bd_resource_unref(&e->base);
}

static void serialize_run(bd_op_ctx *c)
{
    bd_ensemble *e = bd_input_ensemble(c);
    if (!e) return;
    const braid_tensor *stamp = bd_output(c, 0, BRAID_INT64, &BD_SCALAR);
    if (stamp) {
        bd_mutex_lock(&e->mu);
        bd_tensor_i64(stamp)[0] = e->stamp;
        bd_forest_write(&e->forest, c, 1);
        bd_mutex_unlock(&e->mu);
    }
    bd_resource_unref(&e->base);
}

static void states_run(bd_op_ctx *c)
{
    bd_ensemble *e = bd_input_ensemble(c);
    if (!e) return;
    const braid_shape two = bd_shape1(2);
    const braid_tensor *stamp = bd_output(c, 0, BRAID_INT64, &BD_SCALAR);
    int32_t *counts[3];
    for (int i = 0; i < 3; i++) {
        const braid_tensor *y = bd_output(c, 1 + i, BRAID_INT32, &BD_SCALAR);
        counts[i] = y ? bd_tensor_i32(y) : NULL;
    }
    const braid_tensor *range = bd_output(c, 4, BRAID_INT32, &two);
    if (stamp && counts[0] && counts[1] && counts[2] && range) {
        bd_mutex_lock(&e->mu);
        const bd_forest *f = &e->forest;
        const int32_t trees = (int32_t)f->trees.len;
        bd_tensor_i64(stamp)[0] = e->stamp;
        counts[0][0] = trees;
        counts[1][0] = trees == 0 || f->trees.items[trees - 1].is_finalized ? trees : trees - 1;
        counts[2][0] = (int32_t)f->layers_attempted;
        bd_tensor_i32(range)[0] = f->layer_begin;
        // The first layer of an ensemble without trees is the root that the first tree will have.
        bd_tensor_i32(range)[1] = f->layer_end > 1 ? f->layer_end : 1;
        bd_mutex_unlock(&e->mu);
    }
    bd_resource_unref(&e->base);
}

// ---- Definitions ----

static braid_code make_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 1; i < c->input_count; i++)
        if (bd_shape_ctx_rank(c, i, 0, st)) return st->code;
    return bd_shape_ctx_rank(c, 0, 0, st);
}

static braid_code scalars_shape(bd_shape_ctx *c, braid_status *st)
{
    if (bd_shape_ctx_rank(c, 0, 0, st)) return st->code;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = i < 4 ? BD_SCALAR : bd_shape1(2);
    return BRAID_OK;
}

BD_OP(BoostedTreesEnsembleResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to an ensemble of boosted trees.",
};

BD_OP(IsBoostedTreesEnsembleInitialized) = {
    .signature = "(tree_ensemble_handle: resource) -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the ensemble exists.",
};

BD_OP(BoostedTreesCreateEnsemble) = {
    .signature =
        "(tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = make_shape,
    .kernels = BD_KERNELS({.run = create_run}),
    .doc = "Makes the ensemble of a serialized TreeEnsemble (empty: no trees), unless it exists.",
};

BD_OP(BoostedTreesDeserializeEnsemble) = {
    .signature =
        "(tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = make_shape,
    .kernels = BD_KERNELS({.run = deserialize_run}),
    .doc = "Replaces the ensemble by a serialized TreeEnsemble.",
    .deviation =
        "An ensemble is refused if its nodes are no trees, if trees lack weights, and if it has dense splits or leaves "
        "with sparse vectors.",
};

BD_OP(BoostedTreesSerializeEnsemble) = {
    .signature = "(tree_ensemble_handle: resource) -> (stamp_token: int64, tree_ensemble_serialized: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "The ensemble as a serialized TreeEnsemble, with its stamp.",
};

BD_OP(BoostedTreesGetEnsembleStates) = {
    .signature =
        "(tree_ensemble_handle: resource) -> (stamp_token: int64, num_trees: int32, num_finalized_trees: int32, "
        "num_attempted_layers: int32, last_layer_nodes_range: int32)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = states_run}),
    .doc =
        "The stamp and the numbers of trees, finalized trees and attempted layers. The range is [begin, end) "
        "of the nodes of the latest layer.",
};
