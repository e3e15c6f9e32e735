// Input from arrays: a hook feeds each step the next batch of examples.
//
// A batch stays the same until a step with it has succeeded, so that a step that is repeated after a task was
// lost has its examples again. Epochs follow each other without a gap: a batch may hold the end of one epoch
// and the beginning of the next.
#include "base/alloc.h"
#include "base/random.h"
#include "train/estimator/estimator.h"
#include <braid/estimator_inputs.h>
#include <braid/monitored_session.h>
#include <braid/ops.h>
#include <string.h>

#define BATCH_DEFAULT 128

// An array and the placeholder that is fed with it.
typedef struct column {
    braid_tensor *values; // a reference
    braid_out placeholder;
    braid_tensor *batch; // NULL: there is none
} column;

typedef struct array_feeder {
    braid_hook hook;
    BD_ARRAY(column) columns;
    int64_t examples, batch_size;
    int64_t left;        // examples to be fed; -1: there is no end
    int64_t position;    // in the epoch
    int64_t *order;      // [examples] NULL: as they are
    int64_t batch_count; // examples of the present batch; 0: there is none
    bd_rng rng;
} array_feeder;

// ---- Batches ----

static void shuffle(array_feeder *f)
{
    for (int64_t i = f->examples - 1; i > 0 && f->order; i--) {
        const int64_t k = (int64_t)bd_rng_below(&f->rng, (uint64_t)i + 1);
        const int64_t other = f->order[k];
        f->order[k] = f->order[i];
        f->order[i] = other;
    }
}

static int64_t example_at(array_feeder *f)
{
    if (f->position == f->examples) f->position = 0;
    if (f->position == 0) shuffle(f);
    const int64_t at = f->position++;
    return f->order ? f->order[at] : at;
}

static void copy_strings(const braid_tensor *from, int64_t example, braid_tensor *to, int64_t row)
{
    const int64_t count = braid_tensor_num_elements(from) / braid_tensor_shape(from).dims[0];
    for (int64_t i = 0; i < count; i++) {
        size_t len;
        const char *text = braid_tensor_string_at(from, example * count + i, &len);
        braid_tensor_set_string(to, row * count + i, text, len);
    }
}

static void copy_example(const column *c, int64_t example, int64_t row)
{
    if (braid_tensor_dtype(c->values) == BRAID_STRING) {
        copy_strings(c->values, example, c->batch, row);
        return;
    }
    const size_t bytes = braid_tensor_bytes(c->values) / (size_t)braid_tensor_shape(c->values).dims[0];
    char *to = braid_tensor_data(c->batch);
    const char *from = braid_tensor_data(c->values);
    memcpy(to + (size_t)row * bytes, from + (size_t)example * bytes, bytes);
}

static void drop_batch(array_feeder *f)
{
    for (size_t i = 0; i < f->columns.len; i++) {
        braid_tensor_free(f->columns.items[i].batch);
        f->columns.items[i].batch = NULL;
    }
    f->batch_count = 0;
}

static braid_code make_batch(array_feeder *f, int64_t count, braid_status *st)
{
    for (size_t i = 0; i < f->columns.len; i++) {
        column *c = &f->columns.items[i];
        braid_shape shape = braid_tensor_shape(c->values);
        shape.dims[0] = count;
        c->batch = braid_tensor_new(braid_tensor_dtype(c->values), shape, st);
        if (!c->batch) return st->code;
    }
    for (int64_t row = 0; row < count; row++) {
        const int64_t example = example_at(f);
        for (size_t i = 0; i < f->columns.len; i++)
            copy_example(&f->columns.items[i], example, row);
    }
    f->batch_count = count;
    return BRAID_OK;
}

// ---- The hook ----

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)s;
    array_feeder *f = (array_feeder *)hook;
    const int64_t count = f->left < 0 ? f->batch_size : bd_min(f->left, f->batch_size);
    if (count == 0 || f->examples == 0) return bd_fail(st, BRAID_OUT_OF_RANGE, "All examples have been fed");
    if (!f->batch_count && make_batch(f, count, st)) return st->code;
    for (size_t i = 0; i < f->columns.len; i++)
        braid_hook_feed(request, f->columns.items[i].placeholder, f->columns.items[i].batch);
    return BRAID_OK;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)s, (void)values, (void)st;
    array_feeder *f = (array_feeder *)hook;
    if (f->left > 0) f->left -= f->batch_count;
    drop_batch(f);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    array_feeder *f = (array_feeder *)hook;
    drop_batch(f);
    for (size_t i = 0; i < f->columns.len; i++)
        braid_tensor_free(f->columns.items[i].values);
    bd_array_free(&f->columns);
    bd_free(f->order);
    bd_free(f);
}

// ---- The placeholders ----

static bool check_array(braid_graph *g, const array_feeder *f, const braid_array *array)
{
    const char *name = array->name ? array->name : "labels";
    if (!array->values || braid_tensor_shape(array->values).rank < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Array '%s' has no first dimension, which counts the examples", name);
        return false;
    }
    const int64_t examples = braid_tensor_shape(array->values).dims[0];
    if (f->columns.len == 0 || examples == f->examples) return true;
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                     "Array '%s' has %lld examples, and the first array has %lld: give all arrays the same "
                     "number",
                     name, (long long)examples, (long long)f->examples);
    return false;
}

static braid_out add_array(array_feeder *f, braid_graph *g, const braid_array *array)
{
    if (!check_array(g, f, array)) return BRAID_NONE;
    braid_shape shape = braid_tensor_shape(array->values);
    if (f->columns.len == 0) f->examples = shape.dims[0];
    shape.dims[0] = -1;
    const braid_out placeholder =
        braid_placeholder(g, array->name ? array->name : "labels", braid_tensor_dtype(array->values), shape);
    const column c = {.values = braid_tensor_copy(array->values), .placeholder = placeholder};
    bd_array_push(&f->columns, c);
    return placeholder;
}

static void count_examples(array_feeder *f, const braid_array_input *d)
{
    f->batch_size = d->batch_size > 0 ? d->batch_size : BATCH_DEFAULT;
    f->left = d->num_epochs < 0 ? -1 : f->examples * (d->num_epochs ? d->num_epochs : 1);
    if (!d->shuffle) return;
    f->rng = bd_rng_init(d->has_seed ? (uint64_t)d->seed : bd_random_u64());
    f->order = bd_calloc((size_t)bd_max(f->examples, 1), sizeof *f->order);
    for (int64_t i = 0; i < f->examples; i++)
        f->order[i] = i;
}

static void build(void *arg, braid_graph *g, braid_inputs *inputs)
{
    const braid_array_input *d = arg;
    array_feeder *f = bd_calloc(1, sizeof *f);
    f->hook = (braid_hook){.before_run = before_run, .after_run = after_run, .free = release};
    braid_inputs_hook(inputs, &f->hook);
    if (!d->feature_count) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input of arrays has no feature");
    (void)braid_push_name_scope(g, "array_input");
    for (int i = 0; i < d->feature_count; i++)
        braid_inputs_feature(inputs, d->features[i].name, add_array(f, g, &d->features[i]));
    for (int i = 0; i < d->label_count && inputs->mode != BRAID_MODE_PREDICT; i++)
        braid_inputs_label(inputs, d->labels[i].name, add_array(f, g, &d->labels[i]));
    braid_pop_name_scope(g);
    count_examples(f, d);
}

braid_input braid_array_input_fn(const braid_array_input *description)
{
    return (braid_input){.build = build, .arg = (void *)description};
}
