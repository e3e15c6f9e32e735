// Datasets of tensors at hand: one element, slices of tensors, slices of a sparse tensor.
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/dataset/dataset.h"
#include <string.h>

typedef struct tensors_dataset {
    bd_dataset base;
    // [base.count] of TensorDataset and TensorSliceDataset, 3 of SparseTensorSliceDataset
    braid_tensor *tensors;
} tensors_dataset;

typedef struct tensors_iterator {
    bd_iterator base;
    int64_t at;   // of the slices
    int64_t from; // of a sparse tensor: the first value not yet given
} tensors_iterator;

static tensors_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, tensors_dataset, base);
}

static tensors_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, tensors_iterator, base);
}

static void destroy(bd_dataset *base)
{
    tensors_dataset *d = dataset_of(base);
    if (d->tensors) bd_tensors_fini(d->tensors, base->count);
    bd_free(d->tensors);
}

// A dataset that keeps all inputs of the node as its tensors.
static tensors_dataset *new_dataset(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    BD_STATUS(st);
    bd_dataset *made;
    if (bd_dataset_new(kind, (bd_components){.count = c->input_count}, NULL, 0, &made, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    tensors_dataset *d = dataset_of(made);
    d->tensors = bd_calloc((size_t)c->input_count, sizeof *d->tensors);
    for (int i = 0; i < c->input_count; i++) {
        if (!bd_tensor_keep(&d->tensors[i], bd_input(c, i))) {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying component %d of a dataset", i);
            bd_dataset_unref(made);
            return NULL;
        }
        made->types[i] = d->tensors[i].dtype;
        made->shapes[i] = d->tensors[i].shape;
    }
    return d;
}

// ---- TensorDataset ----

static int64_t one_element(const bd_dataset *d)
{
    (void)d;
    return 1;
}

static bd_turn tensor_next(bd_iterator *it)
{
    if (iterator_of(it)->at++ > 0) return bd_give_end(it);
    bd_tensors_ref(it->answer.tensors, dataset_of(it->dataset)->tensors, it->dataset->count);
    return bd_give(it);
}

static const bd_dataset_kind tensor_kind = {
    .name = "Tensor",
    .dataset_size = sizeof(tensors_dataset),
    .iterator_size = sizeof(tensors_iterator),
    .destroy = destroy,
    .cardinality = one_element,
    .next = tensor_next,
};

static void tensor_run(bd_op_ctx *c)
{
    tensors_dataset *d = new_dataset(c, &tensor_kind);
    if (d) bd_output_dataset(c, &d->base);
}

BD_OP(TensorDataset) = {
    .signature = "(components: Toutput_types...) -> (handle: variant)",
    .attrs = "Toutput_types:list(type)>=1; output_shapes:list(shape)>=1; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = tensor_run}),
    .doc = "A dataset of one element: the given tensors.",
};

// ---- TensorSliceDataset ----

static int64_t slice_count(const bd_dataset *d)
{
    return dataset_of(d)->tensors[0].shape.dims[0];
}

static bd_turn slice_next(bd_iterator *it)
{
    tensors_iterator *s = iterator_of(it);
    if (s->at == slice_count(it->dataset)) return bd_give_end(it);
    for (int i = 0; i < it->dataset->count; i++) {
        const braid_shape *shape = &it->dataset->shapes[i];
        bd_tensor_view(&it->answer.tensors[i], &dataset_of(it->dataset)->tensors[i],
                       s->at * bd_shape_count(shape), shape);
    }
    s->at++;
    return bd_give(it);
}

static const bd_dataset_kind slice_kind = {
    .name = "TensorSlice",
    .dataset_size = sizeof(tensors_dataset),
    .iterator_size = sizeof(tensors_iterator),
    .destroy = destroy,
    .cardinality = slice_count,
    .next = slice_next,
};

static bool check_slices(bd_op_ctx *c)
{
    for (int i = 0; i < c->input_count; i++) {
        const braid_shape *shape = &bd_input(c, i)->shape;
        if (shape->rank == 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "All components must be at least 1-dimensional: component %d is a scalar", i);
            return false;
        }
        if (shape->dims[0] != bd_input(c, 0)->shape.dims[0]) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "All components must have the same size in the 0th dimension: component 0 has %lld, component %d "
                "has %lld",
                (long long)bd_input(c, 0)->shape.dims[0], i, (long long)shape->dims[0]);
            return false;
        }
    }
    return true;
}

static void slice_run(bd_op_ctx *c)
{
    tensors_dataset *d = check_slices(c) ? new_dataset(c, &slice_kind) : NULL;
    if (!d) return;
    for (int i = 0; i < d->base.count; i++) {
        braid_shape *shape = &d->base.shapes[i];
        memmove(shape->dims, shape->dims + 1, sizeof shape->dims[0] * (size_t)--shape->rank);
    }
    bd_output_dataset(c, &d->base);
}

BD_OP(TensorSliceDataset) = {
    .signature = "(components: Toutput_types...) -> (handle: variant)",
    .attrs = "Toutput_types:list(type)>=1; output_shapes:list(shape)>=1; +is_files:bool=false; "
             "+replicate_on_split:bool=false; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = slice_run}),
    .doc = "A dataset of the slices of the given tensors along their first dimension.",
};

// ---- SparseTensorSliceDataset ----

enum {
    INDICES,
    VALUES,
    DENSE_SHAPE
};

static int64_t sparse_count(const bd_dataset *d)
{
    return bd_tensor_i64(&dataset_of(d)->tensors[DENSE_SHAPE])[0];
}

// Where the values of slice `at` end, which begin at value `from`.
static int64_t slice_end(const braid_tensor *indices, int64_t from, int64_t at)
{
    int64_t rank = indices->shape.dims[1], end = from;
    while (end < indices->shape.dims[0] && bd_tensor_i64(indices)[end * rank] == at)
        end++;
    return end;
}

static bd_turn sparse_next(bd_iterator *it)
{
    tensors_iterator *s = iterator_of(it);
    const braid_tensor *t = dataset_of(it->dataset)->tensors;
    if (s->at >= sparse_count(it->dataset)) return bd_give_end(it);
    int64_t rank = t[INDICES].shape.dims[1], end = slice_end(&t[INDICES], s->from, s->at),
            count = end - s->from;
    braid_tensor *out = it->answer.tensors;
    braid_shape indices = bd_shape2(count, rank - 1), values = bd_shape1(count), dense = bd_shape1(rank - 1);
    if (!bd_tensor_alloc(&out[INDICES], BRAID_INT64, &indices)) return bd_give_out_of_memory(it);
    for (int64_t i = 0; i < count; i++)
        memcpy(bd_tensor_i64(&out[INDICES]) + i * (rank - 1),
               bd_tensor_i64(&t[INDICES]) + (s->from + i) * rank + 1, (size_t)(rank - 1) * sizeof(int64_t));
    bd_tensor_view(&out[VALUES], &t[VALUES], s->from, &values);
    bd_tensor_view(&out[DENSE_SHAPE], &t[DENSE_SHAPE], 1, &dense);
    s->from = end;
    s->at++;
    return bd_give(it);
}

static const bd_dataset_kind sparse_kind = {
    .name = "SparseTensorSlice",
    .dataset_size = sizeof(tensors_dataset),
    .iterator_size = sizeof(tensors_iterator),
    .destroy = destroy,
    .cardinality = sparse_count,
    .next = sparse_next,
};

static bool check_sparse_shapes(bd_op_ctx *c)
{
    static const struct {
        const char *name, *form;
        int rank;
    } wanted[] = {{"indices", "matrix", 2}, {"values", "vector", 1}, {"shape", "vector", 1}};
    for (int i = 0; i < 3; i++) {
        char text[BD_SHAPE_STR_MAX];
        if (bd_input(c, i)->shape.rank == wanted[i].rank) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input %s should be a %s but received shape %s", wanted[i].name,
                   wanted[i].form, bd_shape_str(&bd_input(c, i)->shape, text));
        return false;
    }
    const int64_t *indices = bd_input(c, INDICES)->shape.dims, values = bd_input(c, VALUES)->shape.dims[0],
                  rank = bd_input(c, DENSE_SHAPE)->shape.dims[0];
    if (indices[0] == values && indices[1] == rank && rank > 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "A sparse tensor of %lld dimensions with %lld values cannot have indices of shape [%lld,%lld]",
               (long long)rank, (long long)values, (long long)indices[0], (long long)indices[1]);
    return false;
}

// The values of a slice must be contiguous.
static bool check_sparse_order(bd_op_ctx *c)
{
    const int64_t *indices = bd_tensor_i64(bd_input(c, INDICES)), count = bd_input(c, INDICES)->shape.dims[0],
                  rank = bd_input(c, INDICES)->shape.dims[1],
                  slices = bd_tensor_i64(bd_input(c, DENSE_SHAPE))[0];
    if (slices < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A sparse tensor cannot have %lld slices", (long long)slices);
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        if (indices[i * rank] < 0 || indices[i * rank] >= slices) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Value %lld of the sparse tensor is in slice %lld of %lld",
                       (long long)i, (long long)indices[i * rank], (long long)slices);
            return false;
        }
        if (i > 0 && indices[i * rank] < indices[(i - 1) * rank]) {
            bd_op_fail(
                c, BRAID_UNIMPLEMENTED,
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not "
                "currently supported.");
            return false;
        }
    }
    return true;
}

static void sparse_run(bd_op_ctx *c)
{
    tensors_dataset *d =
        check_sparse_shapes(c) && check_sparse_order(c) ? new_dataset(c, &sparse_kind) : NULL;
    if (!d) return;
    int64_t rank = d->tensors[DENSE_SHAPE].shape.dims[0];
    d->base.shapes[INDICES] = bd_shape2(-1, rank - 1);
    d->base.shapes[VALUES] = bd_shape1(-1);
    d->base.shapes[DENSE_SHAPE] = bd_shape1(rank - 1);
    bd_output_dataset(c, &d->base);
}

BD_OP(SparseTensorSliceDataset) = {
    .signature = "(indices: int64, values: Tvalues, dense_shape: int64) -> (handle: variant)",
    .attrs = "Tvalues:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = sparse_run}),
    .doc =
        "A dataset of the slices of a sparse tensor along its first dimension, each as indices, values and shape.",
};
