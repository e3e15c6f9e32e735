// A dataset of elements that are at hand: of a window, of a group.
#include "ops/dataset/in_memory.h"

#include "base/alloc.h"

typedef struct held_dataset {
    bd_dataset base;
    int64_t len;
    braid_tensor *tensors; // [len * base.count], owned
} held_dataset;

typedef struct held_iterator {
    bd_iterator base;
    int64_t at;
} held_iterator;

static held_dataset *held_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, held_dataset, base);
}

static void destroy(bd_dataset *d)
{
    for (int64_t i = 0; i < held_of(d)->len; i++)
        bd_tensors_fini(held_of(d)->tensors + i * d->count, d->count);
    bd_free(held_of(d)->tensors);
}

static int64_t cardinality(const bd_dataset *d)
{
    return held_of(d)->len;
}

static bd_turn next(bd_iterator *it)
{
    held_iterator *h = BD_CONTAINER_OF(it, held_iterator, base);
    const held_dataset *d = held_of(it->dataset);
    int count = it->dataset->count;
    if (h->at == d->len) return bd_give_end(it);
    bd_tensors_ref(it->answer.tensors, &d->tensors[h->at++ * count], count);
    return bd_give(it);
}

static const bd_dataset_kind held_kind = {
    .name = "Window",
    .dataset_size = sizeof(held_dataset),
    .iterator_size = sizeof(held_iterator),
    .destroy = destroy,
    .cardinality = cardinality,
    .next = next,
};

braid_tensor *bd_held_dataset_new(int count, const braid_dtype *types, const braid_shape *shapes, int64_t len,
                                  bd_dataset **out, braid_status *st)
{
    if (bd_dataset_new(&held_kind, (bd_components){count, types, shapes}, NULL, 0, out, st)) return NULL;
    held_of(*out)->tensors = bd_calloc((size_t)len * (size_t)count, sizeof(braid_tensor));
    held_of(*out)->len = len;
    return held_of(*out)->tensors;
}
