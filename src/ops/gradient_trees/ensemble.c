// Ensembles in memory, as a resource and as a message.
#include "ops/gradient_trees/ensemble.h"

#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"
#include "proto/pack.h"
#include "tensorflow/contrib/boosted_trees/proto/tree_config.pb-c.h"

typedef Tensorflow__BoostedTrees__Trees__DecisionTreeEnsembleConfig ensemble_message;

// ---- The resource ----

static void destroy(bd_resource *r)
{
    bd_gbt_ensemble_resource *e = BD_CONTAINER_OF(r, bd_gbt_ensemble_resource, base);
    bd_gbt_ensemble_fini(&e->ensemble);
    bd_mutex_fini(&e->mu);
    bd_free(e);
}

const bd_resource_type bd_gbt_ensemble_type = {.name = "DecisionTreeEnsembleResource", .destroy = destroy};

bd_gbt_ensemble_resource *bd_gbt_input_ensemble(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_gbt_ensemble_type);
    return r ? BD_CONTAINER_OF(r, bd_gbt_ensemble_resource, base) : NULL;
}

bd_gbt_ensemble_resource *bd_gbt_lock_stamped(bd_op_ctx *c, int next)
{
    int64_t stamp, next_stamp = 0;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &stamp)) return NULL;
    if (next && !bd_gbt_input_int64(c, next, "next_stamp_token", &next_stamp)) return NULL;
    if (next && stamp == next_stamp) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "next_stamp_token must differ from stamp_token, %lld",
                   (long long)stamp);
        return NULL;
    }
    bd_gbt_ensemble_resource *e = bd_gbt_input_ensemble(c);
    if (!e) return NULL;
    bd_mutex_lock(&e->mu);
    if (e->stamp == stamp) return e;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "stamp_token is %lld, but the stamp of the ensemble is %lld",
               (long long)stamp, (long long)e->stamp);
    bd_gbt_release(e);
    return NULL;
}

void bd_gbt_release(bd_gbt_ensemble_resource *r)
{
    bd_mutex_unlock(&r->mu);
    bd_resource_unref(&r->base);
}

// ---- In memory ----

void bd_gbt_ensemble_fini(bd_gbt_ensemble *e)
{
    for (size_t i = 0; i < e->trees.len; i++)
        bd_gbt_tree_free(&e->trees.items[i]);
    bd_array_free(&e->trees);
    bd_array_free(&e->weights);
    bd_array_free(&e->metadata);
    bd_array_free(&e->used_handlers);
    bd_charge_fini(&e->charge);
    *e = (bd_gbt_ensemble){0};
}

braid_code bd_gbt_ensemble_check(const bd_gbt_ensemble *e, braid_status *st)
{
    if (e->weights.len == e->trees.len && e->metadata.len == e->trees.len) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "The ensemble has %zu trees, but %zu tree_weights and tree_metadata of %zu", e->trees.len,
                   e->weights.len, e->metadata.len);
}

bd_gbt_tree *bd_gbt_last_tree(bd_gbt_ensemble *e)
{
    return &e->trees.items[e->trees.len - 1];
}

bd_gbt_metadata *bd_gbt_last_metadata(bd_gbt_ensemble *e)
{
    return &e->metadata.items[e->metadata.len - 1];
}

bool bd_gbt_begins_tree(const bd_gbt_ensemble *e)
{
    return e->trees.len == 0 || e->metadata.len == 0 || e->metadata.items[e->metadata.len - 1].is_finalized;
}

bd_gbt_tree *bd_gbt_add_tree(bd_gbt_ensemble *e, float weight)
{
    bd_array_push(&e->weights, weight);
    bd_array_push(&e->metadata, (bd_gbt_metadata){.layers = 1});
    bd_array_push(&e->trees, (bd_gbt_tree){0});
    return bd_gbt_last_tree(e);
}

void bd_gbt_remove_last_tree(bd_gbt_ensemble *e)
{
    BD_STATUS(less);
    const size_t bytes = bd_gbt_last_tree(e)->bytes;
    bd_gbt_tree_free(bd_gbt_last_tree(e));
    e->trees.len--;
    e->weights.len--;
    e->metadata.len--;
    bd_charge_set(&e->charge, e->charge.bytes - bytes, "The ensemble", less);
}

void bd_gbt_count_attempt(bd_gbt_ensemble *e)
{
    e->has_growing_metadata = true;
    if (e->layers_attempted < INT64_MAX) e->layers_attempted++;
    if (bd_gbt_begins_tree(e) && e->trees_attempted < INT64_MAX) e->trees_attempted++;
}

braid_code bd_gbt_charge_more(bd_gbt_ensemble *e, size_t more, braid_status *st)
{
    return bd_charge_set(&e->charge, e->charge.bytes + more, "The ensemble", st);
}

void bd_gbt_settle_charge(bd_gbt_ensemble *e, size_t more)
{
    BD_STATUS(less);
    bd_gbt_tree *t = bd_gbt_last_tree(e);
    const size_t before = t->bytes;
    t->bytes = bd_gbt_tree_bytes(t);
    bd_charge_set(&e->charge, e->charge.bytes - before - more + t->bytes, "The ensemble", less);
}

// ---- Reading ----

static braid_code read_trees(bd_gbt_ensemble *e, const ensemble_message *m, braid_status *st)
{
    size_t bytes = 0;
    for (size_t i = 0; i < m->n_trees; i++) {
        bd_array_push(&e->trees, (bd_gbt_tree){0});
        bd_gbt_tree *t = bd_gbt_last_tree(e);
        if (bd_gbt_tree_read(t, m->trees[i], st)) return st->code;
        t->bytes = bd_gbt_tree_bytes(t);
        bytes += t->bytes;
    }
    return bd_gbt_charge_more(e, bytes, st);
}

static void read_metadata(bd_gbt_ensemble *e, const ensemble_message *m)
{
    for (size_t i = 0; i < m->n_tree_weights; i++)
        bd_array_push(&e->weights, m->tree_weights[i]);
    for (size_t i = 0; i < m->n_tree_metadata; i++)
        bd_array_push(&e->metadata,
                      (bd_gbt_metadata){.weight_updates = m->tree_metadata[i]->num_tree_weight_updates,
                                        .layers = m->tree_metadata[i]->num_layers_grown,
                                        .is_finalized = m->tree_metadata[i]->is_finalized});
    if (!m->growing_metadata) return;
    e->has_growing_metadata = true;
    e->trees_attempted = m->growing_metadata->num_trees_attempted;
    e->layers_attempted = m->growing_metadata->num_layers_attempted;
    for (size_t i = 0; i < m->growing_metadata->n_used_handler_ids; i++)
        bd_array_push(&e->used_handlers, m->growing_metadata->used_handler_ids[i]);
}

braid_code bd_gbt_ensemble_read(bd_gbt_ensemble *e, const void *data, size_t len, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    const ensemble_message *m = bd_proto_unpack(
        &tensorflow__boosted_trees__trees__decision_tree_ensemble_config__descriptor, data, len, arena, why);
    if (!m)
        return bd_fail(st, why->code, "Unable to parse tree ensemble config: %s", braid_status_message(why));
    read_metadata(e, m);
    if (read_trees(e, m, st)) {
        bd_gbt_ensemble_fini(e);
        bd_status_prefix(st, "Unable to parse tree ensemble config: ");
    }
    return st->code;
}

// ---- Writing ----

static void emit_metadata(bd_message_out *out, const void *arg)
{
    const bd_gbt_metadata *m = arg;
    bd_gbt_emit_int(out, 1, m->weight_updates);
    bd_gbt_emit_int(out, 2, m->layers);
    bd_gbt_emit_int(out, 3, m->is_finalized);
}

static void emit_growing_metadata(bd_message_out *out, const void *ensemble)
{
    const bd_gbt_ensemble *e = ensemble;
    bd_gbt_emit_int(out, 1, e->trees_attempted);
    bd_gbt_emit_int(out, 2, e->layers_attempted);
    bd_gbt_emit_ints(out, 3, e->used_handlers.items, e->used_handlers.len);
}

void bd_gbt_emit_ensemble(bd_message_out *out, const void *ensemble)
{
    const bd_gbt_ensemble *e = ensemble;
    for (size_t i = 0; i < e->trees.len; i++)
        bd_emit_message(out, 1, bd_gbt_emit_tree, &e->trees.items[i]);
    if (e->weights.len > 0)
        bd_emit_bytes(out, 2, e->weights.items, sizeof *e->weights.items * e->weights.len);
    for (size_t i = 0; i < e->metadata.len; i++)
        bd_emit_message(out, 3, emit_metadata, &e->metadata.items[i]);
    if (e->has_growing_metadata) bd_emit_message(out, 4, emit_growing_metadata, e);
}

// ---- Scalars ----

// One element, of any rank: TensorFlow's restore gives some as vectors.
static bool is_single(bd_op_ctx *c, int i, const char *what)
{
    if (bd_tensor_count(bd_input(c, i)) == 1) return true;
    return bd_input_has_rank(c, i, 0, what);
}

bool bd_gbt_input_message(bd_op_ctx *c, int i, const char *what, const bd_string **message)
{
    if (!is_single(c, i, what)) return false;
    *message = bd_tensor_str(bd_input(c, i));
    return true;
}

bool bd_gbt_input_int64(bd_op_ctx *c, int i, const char *what, int64_t *value)
{
    if (!is_single(c, i, what)) return false;
    *value = bd_tensor_i64(bd_input(c, i))[0];
    return true;
}

bool bd_gbt_input_int32(bd_op_ctx *c, int i, const char *what, int32_t *value)
{
    if (!is_single(c, i, what)) return false;
    *value = bd_tensor_i32(bd_input(c, i))[0];
    return true;
}

bool bd_gbt_output_int64(bd_op_ctx *c, int i, int64_t value)
{
    const braid_tensor *y = bd_output(c, i, BRAID_INT64, &BD_SCALAR);
    if (y) bd_tensor_i64(y)[0] = value;
    return y != NULL;
}

bool bd_gbt_output_bool(bd_op_ctx *c, int i, bool value)
{
    const braid_tensor *y = bd_output(c, i, BRAID_BOOL, &BD_SCALAR);
    if (y) bd_tensor_bool(y)[0] = value;
    return y != NULL;
}

bool bd_gbt_input_bool(bd_op_ctx *c, int i, const char *what, bool *value)
{
    if (!is_single(c, i, what)) return false;
    *value = bd_tensor_bool(bd_input(c, i))[0];
    return true;
}
