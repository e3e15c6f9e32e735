// ParallelMapDataset: calls a function for several elements at a time, and gives the results in the order of
// the elements, or as they come where any order is allowed.
//
// The places of the calls form a ring in the order of the elements: [first, first + count). A place is filled
// with the result when the call has ended, or with the error or the end of the input. The input has a chain
// of its own, which runs while a place is free. Calls end on any thread. A pull that finds the first place
// empty waits, and continues on the thread that fills it. In any order it takes the first place that is
// filled, but the end only when it is alone: the places in front of it move up by one.
//
// References: one of the chain while it pulls, and one of each call.
#include "base/alloc.h"
#include "base/thread.h"
#include "ops/dataset/batch.h"
#include "ops/dataset/map.h"

typedef struct parallel_dataset {
    bd_dataset base;
    bd_captured f;
    int64_t parallel;
    bd_order order;
    bool preserve_cardinality;
} parallel_dataset;

typedef struct place {
    bool is_filled;
    bd_answer answer;
} place;

typedef struct parallel_iterator {
    bd_iterator base;
    bd_chain *below;
    bd_mutex mu;
    place *places; // [parallel], guarded by mu, as all below
    place **ring;  // [parallel]; the places in their order
    int64_t first, count;
    bool is_pulling, is_over, is_waiting;
} parallel_iterator;

// More calls at a time are no use.
#define PARALLEL_MAX 4096

static parallel_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, parallel_dataset, base);
}

static parallel_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, parallel_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_captured_fini(&dataset_of(d)->f);
}

static braid_code parallel_open(bd_iterator *it, braid_status *st)
{
    parallel_iterator *p = iterator_of(it);
    size_t parallel = (size_t)dataset_of(it->dataset)->parallel, count = (size_t)it->dataset->count;
    bd_mutex_init(&p->mu);
    p->below = it->calls = bd_chain_below(it->chain);
    p->places = bd_calloc(parallel, sizeof *p->places);
    p->ring = bd_calloc(parallel, sizeof(place *));
    for (size_t i = 0; i < parallel; i++) {
        p->places[i].answer.tensors = bd_calloc(count, sizeof(braid_tensor));
        p->ring[i] = &p->places[i];
    }
    return bd_iterator_open(it->dataset->inputs[0], p->below, it, 0, &it->input, st);
}

static place **place_at(bd_iterator *it, int64_t i)
{
    return &iterator_of(it)->ring[i % dataset_of(it->dataset)->parallel];
}

// Returns whether to pull the input now; then the chain has a reference.
static bool starts_pull_locked(bd_iterator *it)
{
    parallel_iterator *p = iterator_of(it);
    if (p->is_pulling || p->is_over || p->count == dataset_of(it->dataset)->parallel) return false;
    p->is_pulling = true;
    bd_iterator_ref(it);
    return true;
}

// The place whose answer is given next, which becomes the first one. NULL: it is not filled yet.
static place *ready_locked(bd_iterator *it)
{
    const parallel_iterator *p = iterator_of(it);
    bool in_order = bd_iterator_keeps_order(it, dataset_of(it->dataset)->order);
    for (int64_t i = p->first; i < p->first + (in_order ? bd_min(p->count, 1) : p->count); i++) {
        place *f = *place_at(it, i);
        if (!f->is_filled || (i > p->first && f->answer.kind == BD_ANSWER_END)) continue;
        for (; i > p->first; i--)
            *place_at(it, i) = *place_at(it, i - 1);
        return *place_at(it, i) = f;
    }
    return NULL;
}

// Takes the answer that is given next, if it is there.
static bool take_ready_locked(bd_iterator *it, bd_turn *turn)
{
    parallel_iterator *p = iterator_of(it);
    place *f = ready_locked(it);
    if (!f) return false;
    for (int i = 0; i < it->dataset->count; i++)
        bd_tensor_move(&it->answer.tensors[i], &f->answer.tensors[i]);
    bd_status_move(&it->answer.st, &f->answer.st);
    it->answer.kind = f->answer.kind;
    *turn = (bd_turn){BD_TURN_ANSWER, it};
    f->is_filled = false;
    p->first++;
    p->count--;
    return true;
}

static bd_turn parallel_next(bd_iterator *it)
{
    parallel_iterator *p = iterator_of(it);
    bd_turn turn = BD_WAIT;
    bd_mutex_lock(&p->mu);
    p->is_waiting = !take_ready_locked(it, &turn);
    bool pulls = starts_pull_locked(it);
    bd_mutex_unlock(&p->mu);
    return pulls ? bd_turn_spawn_beside(p->below, bd_pull(it, it->input), turn) : turn;
}

// Fills a place, lets a waiting pull continue, and drops the caller's reference.
static bd_turn filled(bd_iterator *it, place *f)
{
    parallel_iterator *p = iterator_of(it);
    bd_turn turn = BD_WAIT;
    bd_mutex_lock(&p->mu);
    f->is_filled = true;
    bool serves = p->is_waiting && take_ready_locked(it, &turn);
    if (serves) p->is_waiting = false;
    bool pulls = serves && starts_pull_locked(it);
    bd_mutex_unlock(&p->mu);
    if (pulls) bd_turn_spawn(p->below, bd_pull(it, it->input));
    bd_iterator_unref(it);
    return turn;
}

static bd_turn called(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    place *f = arg;
    const bd_dataset *d = it->dataset;
    bd_iterator judged = {.dataset = it->dataset, .answer = f->answer}; // gives into the place
    if (st->code)
        bd_give_map_error(&judged, dataset_of(d)->preserve_cardinality, st);
    else
        bd_give_results(&judged, rets, ret_count, st);
    f->answer = judged.answer;
    return filled(it, f);
}

// The chain of the input has answered. The call runs on this thread, if possible, and the next element is
// pulled on another one.
static bd_turn parallel_received(bd_iterator *it, bd_iterator *from)
{
    parallel_iterator *p = iterator_of(it);
    bool is_element = from->answer.kind == BD_ANSWER_ELEMENT;
    bd_mutex_lock(&p->mu);
    place *f = *place_at(it, p->first + p->count++);
    p->is_over = from->answer.kind == BD_ANSWER_END || bd_cancellation_is_cancelled(p->below->token);
    if (!is_element) {
        f->answer.kind = from->answer.kind;
        bd_status_move(&f->answer.st, &from->answer.st);
    }
    p->is_pulling = false; // but this thread keeps the reference, for the call or for filling the place
    braid_tensor *args = is_element ? bd_calloc((size_t)from->dataset->count, sizeof *args) : NULL;
    if (is_element) bd_answer_take(from, args);
    bool pulls = starts_pull_locked(it);
    bd_mutex_unlock(&p->mu);
    int count = from->dataset->count;
    if (!is_element) {
        bd_turn turn = filled(it, f);
        if (pulls) bd_turn_spawn(p->below, bd_pull(it, from));
        return turn;
    }
    if (pulls) bd_turn_spawn(p->below, bd_pull(it, from));
    bd_turn turn = bd_iterator_call(it, &dataset_of(it->dataset)->f, args, count, called, f);
    bd_free(args);
    return turn;
}

static void parallel_stop(bd_iterator *it)
{
    if (iterator_of(it)->below) bd_chain_stop(iterator_of(it)->below);
}

static void parallel_close(bd_iterator *it)
{
    parallel_iterator *p = iterator_of(it);
    for (int64_t i = 0; p->places && i < dataset_of(it->dataset)->parallel; i++) {
        bd_tensors_fini(p->places[i].answer.tensors, it->dataset->count);
        bd_free(p->places[i].answer.tensors);
        bd_status_fini(&p->places[i].answer.st);
    }
    bd_free(p->places);
    bd_free(p->ring);
    bd_mutex_fini(&p->mu);
    bd_chain_unref(p->below);
}

static const bd_dataset_kind parallel_kind = {
    .name = "ParallelMap",
    .dataset_size = sizeof(parallel_dataset),
    .iterator_size = sizeof(parallel_iterator),
    .destroy = destroy,
    .cardinality = bd_cardinality_of_input,
    .open = parallel_open,
    .next = parallel_next,
    .received = parallel_received,
    .stop = parallel_stop,
    .close = parallel_close,
};

bd_dataset *bd_parallel_map_new(bd_op_ctx *c, bd_captured *f, int64_t parallel, bd_order order,
                                bool preserve_cardinality)
{
    bd_dataset *d = NULL;
    if (parallel <= 0 && parallel != -1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
    else
        d = bd_dataset_of_attrs(c, &parallel_kind, true);
    if (!d) {
        bd_captured_fini(f);
        return NULL;
    }
    if (parallel == -1) parallel = bd_cpu_count();
    dataset_of(d)->f = *f;
    dataset_of(d)->parallel = bd_min(parallel, PARALLEL_MAX);
    dataset_of(d)->order = order;
    dataset_of(d)->preserve_cardinality = preserve_cardinality;
    return d;
}

// ---- Ops ----

BD_DEFINE_FUNC_STATE(f, "f")

// num_parallel_calls is int32, and int64 in the second version.
static void parallel_run(bd_op_ctx *c)
{
    bd_captured f;
    bd_order order;
    int last = c->input_count - 1;
    const braid_tensor *parallel = bd_input(c, last);
    if (!bd_order_of_attr(c, &order) || !bd_input_scalar(c, last, "num_parallel_calls", parallel->dtype) ||
        !bd_captured_init(&f, c, c->state, 1, last - 1))
        return;
    bd_dataset *d = bd_parallel_map_new(c, &f, bd_tensor_index(parallel, 0), order,
                                        bd_node_attr_bool(c->node, "preserve_cardinality"));
    if (d) bd_output_dataset(c, d);
}

BD_OP(ParallelMapDataset) = {
    .signature =
        "(input_dataset: variant, other_arguments: Targuments..., num_parallel_calls: int32) -> (handle: variant)",
    .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS
             "; use_inter_op_parallelism:bool=true; sloppy:bool=false; preserve_cardinality:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_FUNC_KERNEL(f, parallel_run),
    .deviation = BD_ANY_ORDER_SAVED,
    .doc =
        "Applies a function to each element of a dataset, several at a time; -1: the number of processors.",
};

BD_OP(ParallelMapDatasetV2) = {
    .signature =
        "(input_dataset: variant, other_arguments: Targuments..., num_parallel_calls: int64) -> (handle: variant)",
    .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS
             "; use_inter_op_parallelism:bool=true; deterministic:string='default'; "
             "preserve_cardinality:bool=false; use_unbounded_threadpool:bool=false; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_FUNC_KERNEL(f, parallel_run),
    .deviation = BD_ANY_ORDER_SAVED,
    .doc =
        "Applies a function to each element of a dataset, several at a time; -1: the number of processors.",
};

// Batches the results of a parallel map. (TensorFlow has a dataset of its own for this, which saves a copy.)
static void map_and_batch_run(bd_op_ctx *c)
{
    bd_captured f;
    int64_t size, parallel;
    int last = c->input_count - 1;
    if (!bd_input_scalar_int(c, last - 2, "batch_size", &size) ||
        !bd_input_scalar_int(c, last - 1, "num_parallel_calls", &parallel) ||
        !bd_input_scalar(c, last, "drop_remainder", BRAID_BOOL))
        return;
    if (size <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "batch_size must be greater than zero.");
        return;
    }
    if (!bd_captured_init(&f, c, c->state, 1, last - 3)) return;
    bd_dataset *d = bd_parallel_map_new(c, &f, parallel, BD_ORDER_KEPT,
                                        bd_node_attr_bool(c->node, "preserve_cardinality"));
    if (!d) return;
    for (int i = 0; i < d->count; i++) // the attrs are those of the batches
        d->shapes[i] = BD_SHAPE_UNKNOWN;
    bd_dataset *batches = bd_batch_of_answers_new(c, d, size, bd_tensor_bool(bd_input(c, last))[0]);
    bd_dataset_unref(d);
    if (batches) bd_output_dataset(c, batches);
}

static braid_code map_and_batch_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = c->input_count - 3; i < c->input_count; i++) { // after the inputs of the function
        braid_code code = bd_shape_ctx_rank(c, i, 0, st);
        if (code) return code;
    }
    return bd_shape_fn_scalar(c, st);
}

#define MAP_AND_BATCH_OP                                                                                     \
    {                                                                                                        \
        .signature = "(input_dataset: variant, other_arguments: Targuments..., batch_size: int64, "          \
                     "num_parallel_calls: int64, drop_remainder: bool) -> (handle: variant)",                \
        .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS                                       \
                 "; preserve_cardinality:bool=false; " BD_DATASET_METADATA,                                  \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = map_and_batch_shape,                                     \
        .kernels = BD_FUNC_KERNEL(f, map_and_batch_run),                                                     \
        .doc =                                                                                               \
            "Applies a function to each element of a dataset, several at a time, and batches the results."   \
    }

BD_OP(MapAndBatchDataset) = MAP_AND_BATCH_OP;
BD_OP(ExperimentalMapAndBatchDataset) = MAP_AND_BATCH_OP;
