// LMDBDataset: the keys and values of LMDB databases, one database after another.
#include "io/lmdb.h"
#include "ops/dataset/files.h"
#include "ops/dataset/function.h"

typedef struct lmdb_dataset {
    bd_dataset base;
    bd_file_names names;
} lmdb_dataset;

typedef struct lmdb_iterator {
    bd_iterator base;
    int64_t file; // the database that is read, or the next one
    bd_lmdb *db;  // owned; NULL: not open
} lmdb_iterator;

static lmdb_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, lmdb_dataset, base);
}

static lmdb_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, lmdb_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_file_names_fini(&dataset_of(d)->names);
}

static void lmdb_close(bd_iterator *it)
{
    bd_lmdb_close(iterator_of(it)->db);
}

static bool put(bd_iterator *it, int i, const void *data, size_t len)
{
    braid_tensor *t = &it->answer.tensors[i];
    return bd_tensor_alloc(t, BRAID_STRING, &BD_SCALAR) && bd_tensor_string_try_set(t, 0, data, len);
}

static bd_turn give_record(bd_iterator *it, const bd_lmdb_record *r)
{
    if (put(it, 0, r->key, r->key_len) && put(it, 1, r->value, r->value_len)) return bd_give(it);
    bd_answer_drop(it);
    return bd_give_out_of_memory(it);
}

static bd_turn read_next(bd_iterator *it)
{
    lmdb_iterator *l = iterator_of(it);
    const bd_file_names *names = &dataset_of(it->dataset)->names;
    for (; l->file < names->count; l->file++) {
        BD_STATUS(st);
        bd_lmdb_record record;
        bool found = false;
        if (!l->db) bd_lmdb_open(bd_iterator_fs(it), names->items[l->file], &l->db, st);
        if (!st->code) bd_lmdb_next(l->db, &record, &found, st);
        if (found) return give_record(it, &record);
        bd_lmdb_close(l->db);
        l->db = NULL;
        if (!st->code) continue;
        l->file++; // the error is the last that it gives
        return bd_give_error(it, st);
    }
    return bd_give_end(it);
}

static bd_turn lmdb_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, read_next);
}

static const bd_dataset_kind lmdb_kind = {
    .name = "LMDB",
    .dataset_size = sizeof(lmdb_dataset),
    .iterator_size = sizeof(lmdb_iterator),
    .destroy = destroy,
    .next = lmdb_next,
    .close = lmdb_close,
};

// ---- The op ----

static void lmdb_run(bd_op_ctx *c)
{
    bd_dataset *d = bd_dataset_of_attrs(c, &lmdb_kind, false);
    if (!d) return;
    if (d->count != 2 || d->types[0] != BRAID_STRING || d->types[1] != BRAID_STRING)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output_types must be two strings: a key and a value");
    if (!bd_op_failed(c) && bd_input_file_names(c, 0, &dataset_of(d)->names))
        bd_output_dataset(c, d);
    else
        bd_dataset_unref(d);
}

#define LMDB_OP                                                                                              \
    {                                                                                                        \
        .signature = "(filenames: string) -> (handle: variant)", .attrs = BD_DATASET_ATTRS,                  \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                     \
        .kernels = BD_KERNELS({.run = lmdb_run}),                                                            \
        .deviation = "The databases are not locked: they must not change meanwhile.",                        \
        .doc = "The keys and values of LMDB databases, in the order of their keys."                          \
    }

BD_OP(LMDBDataset) = LMDB_OP;
BD_OP(ExperimentalLMDBDataset) = LMDB_OP;
