// InitializeTableFromDataset: fills a table from a dataset.
//
// One execution reads the dataset; the table gets all keys at once after the last element.
#include "ops/lookup/table.h"
#include "base/alloc.h"
#include "base/array.h"
#include "ops/common/element.h"
#include "ops/common/handle.h"
#include "ops/dataset/dataset.h"

// Keys and values in the order of the elements; an element may hold many.
typedef struct pair {
    braid_tensor keys, values; // owned
} pair;

typedef struct fill_run {
    bd_op_ctx *c;
    bd_table *table; // a reference
    bd_chain *chain;
    bd_iterator *top;
    BD_ARRAY(pair) pairs;
    int64_t count; // of keys
} fill_run;

static void end_run(fill_run *f)
{
    bd_op_ctx *c = f->c;
    for (size_t i = 0; i < f->pairs.len; i++) {
        bd_tensor_fini(&f->pairs.items[i].keys);
        bd_tensor_fini(&f->pairs.items[i].values);
    }
    bd_array_free(&f->pairs);
    bd_iterator_close(f->top);
    bd_chain_unref(f->chain);
    bd_resource_unref(&f->table->base);
    bd_free(f);
    bd_op_done(c);
}

static void take_pair(fill_run *f, const braid_tensor *element)
{
    char keys[BD_SHAPE_STR_MAX], values[BD_SHAPE_STR_MAX];
    if (!bd_shape_equal(&element[0].shape, &element[1].shape)) {
        bd_op_fail(f->c, BRAID_INVALID_ARGUMENT, "keys and values of an element have shapes %s and %s",
                   bd_shape_str(&element[0].shape, keys), bd_shape_str(&element[1].shape, values));
        return;
    }
    pair p;
    bd_tensor_ref(&p.keys, &element[0]);
    bd_tensor_ref(&p.values, &element[1]);
    bd_array_push(&f->pairs, p);
    f->count += bd_tensor_count(&element[0]);
}

static void fill(fill_run *f)
{
    BD_STATUS(st);
    braid_tensor keys = {0}, values = {0};
    const braid_shape shape = bd_shape1(f->count);
    if (!bd_tensor_init(&keys, f->table->options.key_dtype, &shape, st) &&
        !bd_tensor_init(&values, f->table->options.value_dtype, &shape, st)) {
        int64_t at = 0;
        for (size_t i = 0; i < f->pairs.len; i++) {
            const pair *p = &f->pairs.items[i];
            const int64_t count = bd_tensor_count(&p->keys);
            bd_elements_copy(&keys, at, &p->keys, 0, count);
            bd_elements_copy(&values, at, &p->values, 0, count);
            at += count;
        }
        bd_table_initialize(f->table, &keys, &values, f->count, st);
    }
    // As in TensorFlow, a filled table is not changed, whatever the dataset holds.
    const bool was_filled = st->code == BRAID_FAILED_PRECONDITION && bd_table_is_initialized(f->table);
    if (st->code && !was_filled) bd_op_fail_status(f->c, st);
    bd_tensor_fini(&keys);
    bd_tensor_fini(&values);
}

static bd_turn answered(bd_chain *chain, bd_iterator *it)
{
    fill_run *f = chain->arg;
    if (it->answer.kind == BD_ANSWER_ELEMENT) {
        take_pair(f, it->answer.tensors);
        bd_answer_drop(it);
        if (!bd_op_failed(f->c)) return bd_pull(NULL, it);
    } else if (it->answer.kind == BD_ANSWER_ERROR) {
        bd_op_fail_status(f->c, &it->answer.st);
    } else {
        fill(f);
    }
    end_run(f);
    return BD_WAIT;
}

static bool check_types(bd_op_ctx *c, const bd_table *t, const bd_dataset *d)
{
    const braid_dtype wanted[] = {t->options.key_dtype, t->options.value_dtype};
    static const char *const names[] = {"Key", "Value"};
    if (d->count != 2) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dataset should have two output types only");
    for (int i = 0; i < 2 && !bd_op_failed(c); i++) {
        if (d->types[i] != wanted[i])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s dtype expected: %s but obtained: %s from the dataset",
                       names[i], braid_dtype_name(wanted[i]), braid_dtype_name(d->types[i]));
    }
    return !bd_op_failed(c);
}

static void fill_start(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r = bd_input_resource(c, 0, &bd_table_type);
    bd_table *t = r ? BD_CONTAINER_OF(r, bd_table, base) : NULL;
    bd_dataset *d = r ? bd_input_dataset(c, 1) : NULL;
    if (d && (bd_table_key_size(t) != 1 || bd_table_value_size(t) != 1))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Table %s is not initializable: its keys and values are no scalars", t->options.name);
    if (!d || bd_op_failed(c) || !check_types(c, t, d)) {
        bd_resource_unref(r);
        bd_op_done(c);
        return;
    }
    fill_run *f = bd_calloc(1, sizeof *f);
    f->c = c;
    f->table = t;
    f->chain = bd_chain_new(c->step, c->step->cancellation);
    f->chain->answered = answered;
    f->chain->arg = f;
    if (!bd_iterator_open(d, f->chain, NULL, 0, &f->top, st)) {
        bd_turn_run(bd_pull(NULL, f->top));
        return;
    }
    bd_op_fail_status(c, st);
    end_run(f);
}

BD_OP(InitializeTableFromDataset) = {
    .signature = "(table_handle: resource, dataset: variant) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .start = fill_start}),
    .doc = "Fills a table that is filled once with the keys and values that a dataset gives.",
};
