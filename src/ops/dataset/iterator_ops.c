// The ops of iterators: making, initializing and naming them, and taking elements.
#include "base/alloc.h"
#include "ops/common/anonymous.h"
#include "ops/common/handle.h"
#include "ops/dataset/iterator.h"
#include <string.h>

// ---- Iterator, IteratorV2 ----

static braid_code source_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_handle_source_init(state, node, &bd_iterator_resource_type);
    return BRAID_OK;
}

static void source_destroy(void *state)
{
    bd_handle_source_fini(state);
}

static void source_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r = bd_handle_source_output(c, c->state, bd_iterator_resource_create, (void *)c->node);
    if (!r) return;
    if (bd_iterator_resource_check(r, c->node, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

#define ITERATOR_OP(DOC)                                                                                     \
    {                                                                                                        \
        .signature = "() -> (handle: resource)",                                                             \
        .attrs = "shared_name:string; container:string; " BD_DATASET_ATTRS,                                  \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                     \
        .kernels = BD_KERNELS({.state_size = sizeof(bd_handle_source),                                       \
                               .create = source_create,                                                      \
                               .destroy = source_destroy,                                                    \
                               .run = source_run}),                                                          \
        .doc = (DOC)                                                                                         \
    }

BD_OP(Iterator) = ITERATOR_OP("An iterator, to be given a dataset by MakeIterator.");
BD_OP(IteratorV2) = ITERATOR_OP("An iterator, to be given a dataset by MakeIterator.");

// ---- Anonymous iterators ----

static void anonymous_run(bd_op_ctx *c)
{
    bd_output_anonymous(c, "AnonymousIterator", &bd_iterator_resource_type, bd_iterator_resource_create,
                        (void *)c->node);
}

BD_OP(AnonymousIterator) = {
    .signature = "() -> (handle: resource)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = anonymous_run}),
    .doc = "A new iterator each time, under a name of its own.",
};

BD_OP(AnonymousIteratorV2) = {
    .signature = "() -> (handle: resource, deleter: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = anonymous_run}),
    .doc = "A new iterator for each execution, which stops when the last reference to `deleter` is dropped.",
};

BD_OP(AnonymousIteratorV3) = {
    .signature = "() -> (handle: resource)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = anonymous_run}),
    .deviation = "It lives as long as its container, also without references to its handle.",
    .doc = "A new iterator each time, under a name of its own.",
};

static void delete_run(bd_op_ctx *c)
{
    bd_delete_anonymous(c, &bd_iterator_resource_type);
}

BD_OP(DeleteIterator) = {
    .signature = "(handle: resource, deleter: variant) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = delete_run}),
    .doc = "Deletes an iterator; executions that wait for its elements are cancelled.",
};

// ---- Initializing ----

static void make_on_disk(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_dataset *d = bd_input_dataset(c, 0);
    bd_resource *r = d ? bd_input_resource(c, 1, &bd_iterator_resource_type) : NULL;
    if (r && bd_iterator_resource_set(r, d, c->step, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

// Beginning a dataset may look at files.
static void make_start(bd_op_ctx *c)
{
    bd_op_run_io(c, make_on_disk);
}

BD_OP(MakeIterator) = {
    .signature = "(dataset: variant, iterator: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.start = make_start}),
    .doc = "Sets an iterator to the beginning of a dataset.",
};

// ---- GetNext ----

static void get_next(bd_op_ctx *c, bool as_optional)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_iterator_resource_type);
    if (!r) {
        bd_op_done(c);
        return;
    }
    bd_iterator_resource_get_next(r, c, as_optional);
    bd_resource_unref(r);
}

static void get_next_start(bd_op_ctx *c)
{
    get_next(c, false);
}

static void get_next_as_optional_start(bd_op_ctx *c)
{
    get_next(c, true);
}

#define GET_NEXT_OP(OUTPUT, SHAPE, START, DOC)                                                               \
    {                                                                                                        \
        .signature = "(iterator: resource) -> (" OUTPUT ")", .attrs = BD_DATASET_ATTRS,                      \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = (SHAPE),                                \
        .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .start = (START)}),                             \
        .deviation = "An element that a cancelled step has asked for is kept for the next one.",             \
        .doc = (DOC)                                                                                         \
    }

BD_OP(IteratorGetNext) = GET_NEXT_OP(
    "components: output_types...", bd_shape_fn_output_shapes, get_next_start,
    "The next element of an iterator; OutOfRange at the end. A step that is cancelled while it waits takes none.");
BD_OP(IteratorGetNextSync) = GET_NEXT_OP("components: output_types...", bd_shape_fn_output_shapes,
                                         get_next_start,
                                         "The next element of an iterator; OutOfRange at the end.");
BD_OP(IteratorGetNextAsOptional) =
    GET_NEXT_OP("optional: variant", bd_shape_fn_scalar, get_next_as_optional_start,
                "The next element of an iterator as an optional, which has no value at the end.");

// ---- IteratorGetDevice ----

static void get_device_run(bd_op_ctx *c)
{
    const char *device = c->node->assigned_device ? c->node->assigned_device : "";
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y) bd_tensor_string_set(y, 0, device, strlen(device));
}

#define GET_DEVICE_OP                                                                                        \
    {                                                                                                        \
        .signature = "(resource: resource) -> (device: string)",                                             \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,                    \
        .kernels = BD_KERNELS({.run = get_device_run}),                                                      \
        .doc = "The name of the device that an iterator is on."                                              \
    }

BD_OP(IteratorGetDevice) = GET_DEVICE_OP;
BD_OP(ExperimentalIteratorGetDevice) = GET_DEVICE_OP;

// ---- Saving the position of an iterator ----

static void serialize_run(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_iterator_resource_type);
    if (r) bd_iterator_resource_save(r, c);
    bd_resource_unref(r);
}

BD_OP(SerializeIterator) = {
    .signature = "(resource_handle: resource) -> (serialized: variant)",
    .attrs = "+external_state_policy:int=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .deviation =
        "A state of TensorFlow's own cannot be restored here, nor the other way round. What depends on external state is "
        "refused whatever `external_state_policy` says.",
    .doc = "How many elements an iterator has given, with the random seeds of its datasets.",
};

static void restore_on_disk(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_iterator_resource_type);
    if (r) bd_iterator_resource_restore(r, c, 1);
    bd_resource_unref(r);
}

static void deserialize_start(bd_op_ctx *c)
{
    bd_op_run_io(c, restore_on_disk);
}

BD_OP(DeserializeIterator) = {
    .signature = "(resource_handle: resource, serialized: variant) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.start = deserialize_start}),
    .deviation = "The elements before are made once more and passed over, when the next one is wanted.",
    .doc = "Sets an iterator, which has been initialized with the same dataset, to where it was saved.",
};

// ---- Datasets without an iterator ----

static void cardinality_run(bd_op_ctx *c)
{
    const bd_dataset *d = bd_input_dataset(c, 0);
    braid_tensor *y = d ? bd_output(c, 0, BRAID_INT64, &BD_SCALAR) : NULL;
    if (y) bd_tensor_i64(y)[0] = bd_dataset_cardinality(d);
}

#define CARDINALITY_OP(ATTRS)                                                                                \
    {                                                                                                        \
        .signature = "(input_dataset: variant) -> (cardinality: int64)", .attrs = ATTRS,                     \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                      \
        .kernels = BD_KERNELS({.run = cardinality_run}),                                                     \
        .doc = "How many elements a dataset has; -1: without end, -2: unknown."                              \
    }

BD_OP(DatasetCardinality) = CARDINALITY_OP("+cardinality_options:string=''");
BD_OP(ExperimentalDatasetCardinality) = CARDINALITY_OP(NULL);

// DatasetToSingleElement pulls twice: the element, and then the end.
typedef struct single_run {
    bd_op_ctx *c;
    bd_chain *chain;
    bd_iterator *top;
    bool has_element;
} single_run;

static void single_end(single_run *s)
{
    bd_op_ctx *c = s->c;
    bd_iterator_close(s->top);
    bd_chain_unref(s->chain);
    bd_free(s);
    bd_op_done(c);
}

static bd_turn single_answered(bd_chain *chain, bd_iterator *it)
{
    single_run *s = chain->arg;
    if (it->answer.kind == BD_ANSWER_ERROR) {
        bd_op_fail_status(s->c, &it->answer.st);
    } else if (s->has_element) {
        if (it->answer.kind == BD_ANSWER_ELEMENT)
            bd_op_fail(s->c, BRAID_INVALID_ARGUMENT, "Dataset had more than one element.");
    } else if (it->answer.kind == BD_ANSWER_END) {
        bd_op_fail(s->c, BRAID_INVALID_ARGUMENT, "Dataset was empty.");
    } else {
        s->has_element = true;
        bd_output_answer(s->c, &it->answer, it->dataset->count);
        bd_answer_drop(it);
        if (!bd_op_failed(s->c)) return bd_pull(NULL, it);
    }
    single_end(s);
    return BD_WAIT;
}

static void single_start(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_dataset *d = bd_input_dataset(c, 0);
    if (!d) {
        bd_op_done(c);
        return;
    }
    single_run *s = bd_calloc(1, sizeof *s);
    s->c = c;
    s->chain = bd_chain_new(c->step, c->step->cancellation);
    s->chain->answered = single_answered;
    s->chain->arg = s;
    if (bd_iterator_open(d, s->chain, NULL, 0, &s->top, st)) {
        bd_op_fail_status(c, st);
        single_end(s);
    } else {
        bd_turn_run(bd_pull(NULL, s->top));
    }
}

BD_OP(DatasetToSingleElement) = {
    .signature = "(dataset: variant) -> (components: output_types...)",
    .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_output_shapes,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .start = single_start}),
    .doc = "The only element of a dataset; InvalidArgument when it has none or several.",
};
