// Sparse tensors one by one, and many of them as one.
#include "ops/sparse/sparse_batch.h"

#include "base/interrupt.h"

#include <string.h>

void bd_sparse_part_fini(bd_sparse_part *p)
{
    bd_tensor_fini(&p->indices);
    bd_tensor_fini(&p->values);
}

static bool fail_memory(bd_op_ctx *c)
{
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a sparse tensor");
    return false;
}

bool bd_sparse_part_input(bd_op_ctx *c, bd_sparse_part *p)
{
    BD_SPARSE(s);
    *p = (bd_sparse_part){0};
    if (!bd_sparse_input(c, 0, 1, 2, &s)) return false;
    p->shape = s.shape;
    bd_tensor_move(&p->indices, &s.indices);
    return bd_tensor_keep(&p->values, s.values) || fail_memory(c);
}

bool bd_sparse_part_of(bd_op_ctx *c, const bd_sparse *s, int64_t from, int64_t to, bd_sparse_part *p)
{
    int rank = s->shape.rank - 1;
    braid_shape matrix = bd_shape2(to - from, rank), vector = bd_shape1(to - from);
    *p = (bd_sparse_part){.shape = {.rank = rank}};
    memcpy(p->shape.dims, s->shape.dims + 1, (size_t)rank * sizeof p->shape.dims[0]);
    if (!bd_tensor_alloc(&p->indices, BRAID_INT64, &matrix) ||
        !bd_tensor_alloc(&p->values, s->values->dtype, &vector))
        return fail_memory(c);
    for (int64_t i = from; i < to && rank > 0 && !bd_interrupted_at(i); i++)
        memcpy(bd_tensor_i64(&p->indices) + (i - from) * rank, bd_sparse_row(s, i) + 1,
               (size_t)rank * sizeof(int64_t));
    bd_elements_copy(&p->values, 0, s->values, from, to - from);
    return true;
}

bool bd_sparse_input_batch(bd_op_ctx *c, bd_sparse *s)
{
    if (!bd_sparse_input(c, 0, 1, 2, s)) return false;
    if (s->shape.rank <= 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Rank of input SparseTensor should be > 1, but saw rank: %d",
                   s->shape.rank);
        return false;
    }
    return bd_sparse_check_order(c, s);
}

int64_t bd_sparse_row_end(const bd_sparse *s, int64_t from, int64_t row)
{
    while (from < s->count && bd_sparse_row(s, from)[0] == row && !bd_interrupted_at(from))
        from++;
    return from;
}

// ---- Joining ----

// The shape of the whole; false: the kernel has failed.
static bool whole_shape(bd_op_ctx *c, const bd_sparse_part *parts, const braid_shape *batch, const char *what,
                        int more, braid_shape *out)
{
    int rank = parts[0].shape.rank;
    if (batch->rank + rank > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "a sparse tensor of %d dimensions; at most %d are possible",
                   batch->rank + rank, BRAID_RANK_MAX);
        return false;
    }
    *out = *batch;
    out->rank += rank;
    for (int d = 0; d < rank; d++)
        out->dims[batch->rank + d] = 0;
    for (int64_t i = 0; i < bd_shape_count(batch); i++) {
        const braid_shape *own = &parts[i].shape;
        if (own->rank != rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Inconsistent %s across SparseTensors: rank prior to SparseTensor[%lld] was: %d but "
                       "rank of SparseTensor[%lld] is: %d",
                       what, (long long)i, rank + more, (long long)i, own->rank + more);
            return false;
        }
        for (int d = 0; d < rank; d++) {
            int64_t *dim = &out->dims[batch->rank + d];
            if (own->dims[d] > *dim) *dim = own->dims[d];
        }
    }
    return true;
}

// Writes the indices of part `number`, each after its place in the batch; returns where the next part's go.
static int64_t *put_indices(int64_t *to, const bd_sparse_part *p, const braid_shape *batch, int64_t number)
{
    int64_t place[BRAID_RANK_MAX];
    size_t rank = (size_t)p->shape.rank, outer = (size_t)batch->rank;
    for (int d = batch->rank - 1; d >= 0; d--) {
        place[d] = number % batch->dims[d];
        number /= batch->dims[d];
    }
    for (int64_t i = 0; i < bd_tensor_count(&p->values) && !bd_interrupted_at(i); i++) {
        memcpy(to, place, outer * sizeof *to);
        if (rank > 0) memcpy(to + outer, bd_tensor_i64(&p->indices) + (size_t)i * rank, rank * sizeof *to);
        to += outer + rank;
    }
    return to;
}

void bd_output_sparse_batch(bd_op_ctx *c, const bd_sparse_part *parts, const braid_shape *batch,
                            const char *what, int more)
{
    braid_shape shape;
    int64_t total = 0, at = 0, count = bd_shape_count(batch);
    if (!whole_shape(c, parts, batch, what, more, &shape)) return;
    for (int64_t i = 0; i < count; i++)
        total += bd_tensor_count(&parts[i].values);
    int64_t *indices = bd_output_sparse_indices(c, 0, total, shape.rank);
    braid_tensor *y = indices ? bd_output_sparse_values(c, 1, parts[0].values.dtype, total) : NULL;
    if (!y || !bd_output_sparse_shape(c, 2, &shape)) return;
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {
        int64_t entries = bd_tensor_count(&parts[i].values);
        indices = put_indices(indices, &parts[i], batch, i);
        bd_elements_copy(y, at, &parts[i].values, 0, entries);
        at += entries;
    }
}
