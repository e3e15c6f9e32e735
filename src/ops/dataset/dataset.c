// Datasets, iterators and their turns.
#include "ops/dataset/dataset.h"

#include "base/alloc.h"
#include "base/fingerprint.h"
#include "base/slab.h"
#include "op/function.h"
#include <string.h>

// ---- Datasets ----

static void destroy_dataset(bd_variant *v)
{
    bd_dataset *d = BD_CONTAINER_OF(v, bd_dataset, base);
    if (d->kind->destroy) d->kind->destroy(d);
    for (int i = 0; i < d->input_count; i++)
        bd_dataset_unref(d->inputs[i]);
    bd_free(d->inputs);
    bd_free(d->types);
    bd_free(d->shapes);
    bd_free(d);
}

const bd_variant_type bd_dataset_type = {.name = "tensorflow::DatasetVariantWrapper",
                                         .destroy = destroy_dataset};

braid_code bd_dataset_new(const bd_dataset_kind *kind, bd_components components, bd_dataset *const *inputs,
                          int input_count, bd_dataset **out, braid_status *st)
{
    int depth = 0, count = components.count;
    *out = NULL;
    for (int i = 0; i < input_count; i++)
        if (inputs[i]->depth > depth) depth = inputs[i]->depth;
    if (depth == BD_DATASET_DEPTH_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "More than %d nested datasets", BD_DATASET_DEPTH_MAX);
    bd_dataset *d = bd_calloc(1, kind->dataset_size);
    bd_variant_init(&d->base, &bd_dataset_type);
    d->kind = kind;
    d->depth = depth + 1;
    d->count = count;
    d->types = bd_calloc((size_t)count, sizeof *d->types);
    d->shapes = bd_calloc((size_t)count, sizeof *d->shapes);
    for (int i = 0; i < count; i++) {
        d->types[i] = components.types ? components.types[i] : BRAID_INVALID;
        d->shapes[i] = components.shapes ? components.shapes[i] : BD_SHAPE_UNKNOWN;
    }
    d->inputs = bd_calloc((size_t)input_count, sizeof(bd_dataset *));
    d->input_count = input_count;
    for (int i = 0; i < input_count; i++) {
        d->inputs[i] = bd_dataset_ref(inputs[i]);
        if (!d->state) d->state = inputs[i]->state;
    }
    *out = d;
    return BRAID_OK;
}

int64_t bd_dataset_cardinality(const bd_dataset *d)
{
    return d->kind->cardinality ? d->kind->cardinality(d) : BD_CARDINALITY_UNKNOWN;
}

int64_t bd_cardinality_of_input(const bd_dataset *d)
{
    return bd_dataset_cardinality(d->inputs[0]);
}

braid_code bd_check_components(bd_components want, bd_components got, braid_status *st)
{
    if (want.count != got.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Number of components does not match: expected %d types but got %d.", want.count,
                       got.count);
    for (int i = 0; i < want.count; i++) {
        if (want.types[i] != got.types[i])
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Data type mismatch at component %d: expected %s but got %s.", i,
                           braid_dtype_name(want.types[i]), braid_dtype_name(got.types[i]));
    }
    for (int i = 0; i < want.count; i++) {
        braid_shape merged;
        char want_text[BD_SHAPE_STR_MAX], got_text[BD_SHAPE_STR_MAX];
        if (!bd_shape_merge(&want.shapes[i], &got.shapes[i], &merged))
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Incompatible shapes at component %d: expected %s but got %s.", i,
                           bd_shape_str(&want.shapes[i], want_text), bd_shape_str(&got.shapes[i], got_text));
    }
    return BRAID_OK;
}

// ---- Kernels ----

bd_dataset *bd_input_dataset(bd_op_ctx *c, int i)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->dtype != BRAID_VARIANT || t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dataset tensor must be a scalar of dtype DT_VARIANT.");
        return NULL;
    }
    bd_variant *v = bd_tensor_variant(t)[0];
    if (v && v->type == &bd_dataset_type) return BD_CONTAINER_OF(v, bd_dataset, base);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor must be a Dataset object. Input %d holds %s", i,
               bd_variant_type_name(v));
    return NULL;
}

bd_dataset *bd_dataset_over_input(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    BD_STATUS(st);
    bd_dataset *input = bd_input_dataset(c, 0), *d;
    if (!input) return NULL;
    if (bd_dataset_new(kind, BD_COMPONENTS(input), &input, 1, &d, st)) bd_op_fail_status(c, st);
    return d;
}

// The op by which the functions of a dataset's node depend on more than their arguments.
static const char *state_of_functions(bd_op_ctx *c)
{
    BD_STATUS(ignored);
    const char *state = NULL;
    const bd_op_def *def = c->node->def;
    for (int i = 0; i < def->attr_count && !state; i++) {
        bd_func_ref ref = {0};
        const bd_callee *callee;
        if (def->attrs[i].kind != BD_ATTR_FUNC ||
            bd_func_ref_read(c->node, def->attrs[i].name, -1, &ref, ignored))
            continue;
        if (!bd_function_find(c->step->functions, &ref, BD_CALLEE_PLACED, &callee, ignored))
            state = callee->state;
        bd_func_ref_fini(&ref);
    }
    return state;
}

bool bd_output_dataset(bd_op_ctx *c, bd_dataset *d)
{
    const char *state = d->state ? NULL : state_of_functions(c);
    if (state) d->state = state; // a new dataset; a forwarded one belongs to a node without functions
    return bd_output_variant(c, 0, &d->base);
}

bool bd_input_scalar(bd_op_ctx *c, int i, const char *name, braid_dtype type)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->dtype == type && t->shape.rank == 0) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, but is %s%s", name,
               braid_dtype_name(t->dtype), bd_shape_str(&t->shape, text));
    return false;
}

bool bd_input_scalar_int(bd_op_ctx *c, int i, const char *name, int64_t *value)
{
    if (!bd_input_scalar(c, i, name, BRAID_INT64)) return false;
    *value = bd_tensor_i64(bd_input(c, i))[0];
    return true;
}

braid_code bd_shape_fn_scalars(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->input_count; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 0, st);
        if (code) return code;
    }
    return bd_shape_fn_scalar(c, st);
}

braid_code bd_shape_fn_output_shapes(bd_shape_ctx *c, braid_status *st)
{
    const bd_attr *shapes = bd_node_attr(c->node, "output_shapes");
    if (shapes->list.count != c->output_count)
        return bd_shape_ctx_fail(c, st,
                                 "`output_shapes` must be the same length as `output_types` (%d vs. %d)",
                                 shapes->list.count, c->output_count);
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = shapes->list.shape[i];
    return BRAID_OK;
}

bool bd_order_of_attr(bd_op_ctx *c, bd_order *order)
{
    static const char *const names[] = {"default", "true", "false"};
    *order = BD_ORDER_DEFAULT;
    if (!bd_node_attr(c->node, "deterministic")) {
        if (bd_node_attr_bool(c->node, "sloppy")) *order = BD_ORDER_ANY;
        return true;
    }
    const char *said = bd_node_attr_string(c->node, "deterministic");
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        if (strcmp(said, names[i]) != 0) continue;
        *order = (bd_order)i;
        return true;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "deterministic must be \"default\", \"true\" or \"false\", not \"%s\"", said);
    return false;
}

// ---- Tensors of elements ----

void bd_tensors_fini(braid_tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        bd_tensor_fini(&tensors[i]);
}

void bd_tensors_ref(braid_tensor *to, const braid_tensor *from, int count)
{
    for (int i = 0; i < count; i++)
        bd_tensor_ref(&to[i], &from[i]);
}

void bd_answer_take(bd_iterator *from, braid_tensor *to)
{
    for (int i = 0; i < from->dataset->count; i++)
        bd_tensor_move(&to[i], &from->answer.tensors[i]);
}

void bd_answer_drop(bd_iterator *from)
{
    bd_tensors_fini(from->answer.tensors, from->dataset->count);
}

// ---- Iterators ----

static void free_iterator(bd_iterator *it)
{
    if (it->dataset->kind->close) it->dataset->kind->close(it);
    bd_iterator_close(it->input);
    bd_tensors_fini(it->answer.tensors, it->dataset->count);
    bd_free(it->answer.tensors);
    bd_status_fini(&it->answer.st);
    bd_chain_unref(it->chain);
    bd_dataset_unref(it->shard);
    bd_dataset_unref(it->stats);
    bd_dataset_unref(it->dataset);
    bd_free(it);
}

bd_iterator *bd_iterator_ref(bd_iterator *it)
{
    atomic_fetch_add_explicit(&it->refs, 1, memory_order_relaxed);
    return it;
}

void bd_iterator_unref(bd_iterator *it)
{
    if (it && atomic_fetch_sub_explicit(&it->refs, 1, memory_order_acq_rel) == 1) free_iterator(it);
}

void bd_iterator_close(bd_iterator *it)
{
    if (!it) return;
    if (it->dataset->kind->stop) it->dataset->kind->stop(it);
    bd_iterator_unref(it);
}

static braid_code open_input(bd_iterator *it, braid_status *st)
{
    return bd_iterator_open(it->dataset->inputs[0], it->chain, it, 0, &it->input, st);
}

static uint64_t path_of(const char *name, const bd_iterator *owner, int64_t index)
{
    uint64_t step[] = {owner ? owner->path : 0, (uint64_t)index, bd_fingerprint64(name, strlen(name))};
    return bd_fingerprint64((const char *)step, sizeof step); // the same in every process: it may be saved
}

static bd_dataset *inherited(bd_dataset *d)
{
    return d ? bd_dataset_ref(d) : NULL;
}

braid_code bd_iterator_open(bd_dataset *d, bd_chain *chain, const bd_iterator *owner, int64_t index,
                            bd_iterator **out, braid_status *st)
{
    const unsigned rewrites = d->rewrites | (owner ? owner->rewrites : 0);
    bd_dataset *rewritten = rewrites && d->kind->rewrite ? d->kind->rewrite(d, rewrites) : NULL;
    if (rewritten) d = rewritten;
    bd_iterator *it = bd_calloc(1, d->kind->iterator_size);
    atomic_init(&it->refs, 1);
    it->dataset = rewritten ? rewritten : bd_dataset_ref(d);
    it->chain = bd_chain_ref(chain);
    it->path = path_of(d->kind->name, owner, index);
    it->shard = inherited(d->kind->says_shard ? d : owner ? owner->shard : NULL);
    it->rewrites = rewrites;
    it->stats = inherited(d->kind->gathers_stats ? d : owner ? owner->stats : NULL);
    it->answer.tensors = bd_calloc((size_t)d->count, sizeof *it->answer.tensors);
    braid_code code = d->kind->opens_input ? open_input(it, st) : BRAID_OK;
    if (!code && d->kind->open) code = d->kind->open(it, st);
    if (code) {
        bd_iterator_close(it);
        it = NULL;
    }
    *out = it;
    return code;
}

braid_code bd_iterator_reopen_input(bd_iterator *it, braid_status *st)
{
    bd_iterator_close(it->input);
    it->input = NULL;
    return open_input(it, st);
}

char *bd_iterator_shared_name(const bd_iterator *it, const char *what)
{
    return bd_asprintf("%s::%016llx::%s", it->dataset->kind->name, (unsigned long long)it->path, what);
}

static int64_t *put_seeds(bd_pipeline *p, uint64_t path, const int64_t seeds[2])
{
    int64_t *kept = bd_memdup(seeds, 2 * sizeof *seeds);
    bd_free(bd_imap_put(&p->seeds, path, kept));
    return kept;
}

void bd_iterator_note_seeds(const bd_iterator *it, int64_t seeds[2])
{
    bd_pipeline *p = it->chain->pipeline;
    bd_mutex_lock(&p->mu);
    const int64_t *kept = bd_imap_get(&p->seeds, it->path);
    if (!kept && bd_imap_count(&p->seeds) < BD_PIPELINE_SEEDS_MAX) kept = put_seeds(p, it->path, seeds);
    p->has_other_seeds |= !kept;
    if (kept) memcpy(seeds, kept, 2 * sizeof *seeds);
    bd_mutex_unlock(&p->mu);
}

void bd_chain_restore_seeds(bd_chain *top, uint64_t path, const int64_t seeds[2])
{
    put_seeds(top->pipeline, path, seeds);
}

// ---- Turns ----

bd_turn bd_pull(bd_iterator *it, bd_iterator *from)
{
    from->parent = it;
    return (bd_turn){BD_TURN_PULL, from};
}

bd_turn bd_give(bd_iterator *it)
{
    it->answer.kind = BD_ANSWER_ELEMENT;
    return (bd_turn){BD_TURN_ANSWER, it};
}

bd_turn bd_give_end(bd_iterator *it)
{
    it->answer.kind = BD_ANSWER_END;
    return (bd_turn){BD_TURN_ANSWER, it};
}

bd_turn bd_give_error(bd_iterator *it, braid_status *st)
{
    bd_tensors_fini(it->answer.tensors, it->dataset->count);
    it->answer.kind = BD_ANSWER_ERROR;
    bd_status_move(&it->answer.st, st);
    return (bd_turn){BD_TURN_ANSWER, it};
}

bd_turn bd_give_failure(bd_iterator *it, braid_code code, const char *format, ...)
{
    BD_STATUS(st);
    va_list args;
    va_start(args, format);
    bd_vfail(st, code, format, args);
    va_end(args);
    return bd_give_error(it, st);
}

bd_turn bd_give_out_of_memory(bd_iterator *it)
{
    return bd_give_failure(it, BRAID_RESOURCE_EXHAUSTED, "OOM when making an element of a %s dataset",
                           it->dataset->kind->name);
}

bd_turn bd_pass(bd_iterator *it, bd_iterator *from)
{
    it->answer.kind = from->answer.kind;
    if (from->answer.kind == BD_ANSWER_ELEMENT) {
        BD_ASSERT(it->dataset->count == from->dataset->count);
        bd_answer_take(from, it->answer.tensors);
    } else if (from->answer.kind == BD_ANSWER_ERROR) {
        bd_status_move(&it->answer.st, &from->answer.st);
    }
    return (bd_turn){BD_TURN_ANSWER, it};
}

static bd_turn give_cancelled(bd_iterator *it)
{
    return bd_give_failure(it, BRAID_CANCELLED, "The iterator of a %s dataset was cancelled",
                           it->dataset->kind->name);
}

static bd_turn pulled(bd_iterator *it)
{
    if (it->has_ended) return bd_give_end(it);
    if (bd_cancellation_is_cancelled(it->chain->token)) return give_cancelled(it);
    if (it->chain->parks && it->chain->parks(it->chain, (bd_turn){BD_TURN_PULL, it})) return BD_WAIT;
    return it->dataset->kind->next(it);
}

static bd_turn answered(bd_iterator *it)
{
    if (it->answer.kind == BD_ANSWER_END) it->has_ended = true;
    return it->parent ? it->parent->dataset->kind->received(it->parent, it)
                      : it->chain->answered(it->chain, it);
}

void bd_turn_run(bd_turn turn)
{
    while (turn.kind != BD_TURN_WAIT)
        turn = turn.kind == BD_TURN_PULL ? pulled(turn.it) : answered(turn.it);
}

// A turn, or a function that gives one, on its way to another thread.
typedef struct sent_turn {
    bd_turn turn;
    bd_turn (*fn)(bd_iterator *it);
} sent_turn;

static void run_sent(void *arg)
{
    const sent_turn s = *(sent_turn *)arg;
    bd_slab_free(arg);
    bd_turn_run(s.fn ? s.fn(s.turn.it) : s.turn);
}

static void send_turn(bd_chain *chain, sent_turn turn)
{
    sent_turn *s = bd_slab_alloc_raw(sizeof *s);
    *s = turn;
    if (!bd_io_pool_run(chain->pipeline->io_pool, run_sent, s)) run_sent(s);
}

void bd_turn_spawn(bd_chain *chain, bd_turn turn)
{
    send_turn(chain, (sent_turn){.turn = turn});
}

bd_turn bd_turn_spawn_beside(bd_chain *below, bd_turn turn, bd_turn next)
{
    if (next.kind == BD_TURN_WAIT && !below->pipeline->io_pool) return turn;
    bd_turn_spawn(below, turn);
    return next;
}

const bd_fs *bd_iterator_fs(const bd_iterator *it)
{
    return it->chain->pipeline->fs;
}

bd_turn bd_turn_on_disk(bd_iterator *it, bd_turn (*fn)(bd_iterator *it))
{
    if (bd_io_pool_is_here() || !it->chain->pipeline->io_pool) return fn(it);
    send_turn(it->chain, (sent_turn){.turn.it = it, .fn = fn});
    return BD_WAIT;
}

// ---- Chains ----

static bd_chain *make_chain(bd_pipeline *p, bd_cancellation *parent)
{
    bd_chain *chain = bd_calloc(1, sizeof *chain);
    atomic_init(&chain->refs, 1);
    chain->pipeline = p;
    chain->token = bd_cancellation_new(parent);
    return chain;
}

bd_chain *bd_chain_new(const bd_step *step, bd_cancellation *parent)
{
    bd_pipeline *p = bd_calloc(1, sizeof *p);
    atomic_init(&p->refs, 1);
    p->io_pool = bd_io_pool_ref(step->io_pool);
    p->fs = bd_step_fs(step);
    p->device = bd_resources_ref(step->resources);
    p->resources = bd_resources_new("tf_data");
    bd_mutex_init(&p->mu);
    return make_chain(p, parent);
}

bd_chain *bd_chain_below(bd_chain *chain)
{
    atomic_fetch_add_explicit(&chain->pipeline->refs, 1, memory_order_relaxed);
    return make_chain(chain->pipeline, chain->token);
}

bd_chain *bd_chain_ref(bd_chain *chain)
{
    atomic_fetch_add_explicit(&chain->refs, 1, memory_order_relaxed);
    return chain;
}

static void unref_pipeline(bd_pipeline *p)
{
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    size_t pos = 0;
    uint64_t path;
    void *seeds;
    while (bd_imap_next(&p->seeds, &pos, &path, &seeds))
        bd_free(seeds);
    bd_imap_fini(&p->seeds);
    bd_mutex_fini(&p->mu);
    bd_resources_free(p->resources);
    bd_resources_unref(p->device);
    bd_io_pool_unref(p->io_pool);
    bd_free(p);
}

void bd_chain_unref(bd_chain *chain)
{
    if (!chain || atomic_fetch_sub_explicit(&chain->refs, 1, memory_order_acq_rel) != 1) return;
    bd_cancellation_unref(chain->token);
    unref_pipeline(chain->pipeline);
    bd_free(chain);
}

void bd_chain_stop(bd_chain *chain)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "The iterator was closed");
    bd_cancellation_cancel(chain->token, why);
}
