// AddSparseToTensorsMap, AddManySparseToTensorsMap and TakeManySparseFromTensorsMap: sparse tensors that
// travel as handles, through queues that batch elements one by one.
#include "base/alloc.h"
#include "base/map.h"
#include "base/thread.h"
#include "graph/grad.h"
#include "ops/sparse/sparse_batch.h"

#include <string.h>

// ---- The map ----

typedef struct tensors_map {
    bd_resource base;
    char *name; // owned
    bd_mutex mu;
    bd_imap parts; // guarded by mu; handle -> bd_sparse_part, owned
    int64_t next;  // guarded by mu; the next handle
} tensors_map;

static void destroy_map(bd_resource *r)
{
    tensors_map *m = BD_CONTAINER_OF(r, tensors_map, base);
    size_t pos = 0;
    uint64_t handle;
    for (void *p; bd_imap_next(&m->parts, &pos, &handle, &p);) {
        bd_sparse_part_fini(p);
        bd_free(p);
    }
    bd_imap_fini(&m->parts);
    bd_mutex_fini(&m->mu);
    bd_free(m->name);
    bd_free(m);
}

static const bd_resource_type map_type = {.name = "SparseTensorsMap", .destroy = destroy_map};

static braid_code create_map(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    tensors_map *m = bd_calloc(1, sizeof *m);
    bd_resource_init(&m->base, &map_type);
    bd_mutex_init(&m->mu);
    m->name = bd_strdup(arg);
    *out = &m->base;
    return BRAID_OK;
}

// The map that the node shares by attr shared_name, or without one by its own name. The caller gives the
// reference back. NULL: the kernel has failed.
static tensors_map *find_map(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r;
    const char *container = bd_node_attr_string(c->node, "container"),
               *shared = bd_node_attr_string(c->node, "shared_name"),
               *name = shared[0] ? shared : c->node->name;
    if (!bd_resources_lookup_or_create(
            c->step->resources, &(bd_resource_spec){container, name, &map_type, create_map, (void *)name}, &r,
            st))
        return BD_CONTAINER_OF(r, tensors_map, base);
    bd_op_fail_status(c, st);
    return NULL;
}

// Takes the part's content. False: the kernel has failed.
static bool add_part(bd_op_ctx *c, tensors_map *m, bd_sparse_part *p, int64_t *handle)
{
    bd_sparse_part *kept = bd_try_malloc(sizeof *kept);
    if (!kept) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when keeping a sparse tensor in map: %s", m->name);
        return false;
    }
    *kept = *p;
    *p = (bd_sparse_part){0};
    bd_mutex_lock(&m->mu);
    *handle = m->next++;
    bd_imap_put(&m->parts, (uint64_t)*handle, kept);
    bd_mutex_unlock(&m->mu);
    return true;
}

// Takes a part out. False: the kernel has failed.
static bool take_part(bd_op_ctx *c, tensors_map *m, int64_t handle, bd_sparse_part *p)
{
    bd_mutex_lock(&m->mu);
    bd_sparse_part *kept = bd_imap_remove(&m->parts, (uint64_t)handle);
    bd_mutex_unlock(&m->mu);
    if (!kept) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unable to find SparseTensor: %lld in map: %s",
                   (long long)handle, m->name);
        return false;
    }
    *p = *kept;
    bd_free(kept);
    return true;
}

// ---- Adding ----

static braid_code add_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_sparse(c, 0, 1, 2, st);
}

static braid_code add_many_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(-1);
    return bd_shape_ctx_sparse(c, 0, 1, 2, st);
}

static void add_run(bd_op_ctx *c)
{
    bd_sparse_part p = {0};
    tensors_map *m = bd_sparse_part_input(c, &p) ? find_map(c) : NULL;
    braid_tensor *y = m ? bd_output(c, 0, BRAID_INT64, &BD_SCALAR) : NULL;
    if (y) add_part(c, m, &p, bd_tensor_i64(y));
    bd_sparse_part_fini(&p);
    if (m) bd_resource_unref(&m->base);
}

static void add_rows(bd_op_ctx *c, tensors_map *m, const bd_sparse *s, int64_t *handles)
{
    for (int64_t row = 0, from = 0, to; row < s->shape.dims[0]; row++, from = to) {
        bd_sparse_part p = {0};
        to = bd_sparse_row_end(s, from, row);
        bool ok = bd_sparse_part_of(c, s, from, to, &p) && add_part(c, m, &p, &handles[row]);
        bd_sparse_part_fini(&p);
        if (!ok) return;
    }
}

static void add_many_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    if (!bd_sparse_input_batch(c, &s)) return;
    braid_tensor *y = bd_output_sparse_values(c, 0, BRAID_INT64, s.shape.dims[0]);
    tensors_map *m = y ? find_map(c) : NULL;
    if (!m) return;
    add_rows(c, m, &s, bd_tensor_i64(y));
    bd_resource_unref(&m->base);
}

#define MAP_ATTRS "container:string=''; shared_name:string=''"
#define MAP_INPUTS "(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> "

BD_OP(AddSparseToTensorsMap) = {
    .signature = MAP_INPUTS "(sparse_handle: int64)",
    .attrs = "T:type; " MAP_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = add_shape,
    .kernels = BD_KERNELS({.run = add_run}),
    .doc = "Keeps a sparse tensor until TakeManySparseFromTensorsMap takes it, and gives a handle of it.",
};

BD_OP(AddManySparseToTensorsMap) = {
    .signature = MAP_INPUTS "(sparse_handles: int64)",
    .attrs = "T:type; " MAP_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = add_many_shape,
    .kernels = BD_KERNELS({.run = add_many_run}),
    .doc =
        "Keeps each row of a sparse tensor until TakeManySparseFromTensorsMap takes it, and gives a handle "
        "of each.",
};

// ---- Taking ----

static braid_code take_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_shape_ctx_sparse_outputs(c, 0, -1, -1);
    return bd_shape_ctx_rank(c, 0, 1, st);
}

static bool check_handles(bd_op_ctx *c)
{
    const braid_shape *s = &bd_input(c, 0)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sparse_handles should be a vector but received shape %s",
                   bd_shape_str(s, text));
    } else if (s->dims[0] == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    return !bd_op_failed(c);
}

static bool take_typed(bd_op_ctx *c, tensors_map *m, int64_t i, bd_sparse_part *p)
{
    braid_dtype want = bd_node_attr_type(c->node, "dtype");
    if (!take_part(c, m, bd_tensor_index(bd_input(c, 0), i), p)) return false;
    if (p->values.dtype == want) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Requested SparseTensor of type %s but SparseTensor[%lld].values.dtype() == %s",
               braid_dtype_name(want), (long long)i, braid_dtype_name(p->values.dtype));
    return false;
}

static void take_run(bd_op_ctx *c)
{
    if (!check_handles(c)) return;
    braid_shape batch = bd_input(c, 0)->shape;
    int64_t count = batch.dims[0], done = 0;
    tensors_map *m = find_map(c);
    if (!m) return;
    bd_sparse_part *parts = bd_try_calloc((size_t)count, sizeof *parts);
    if (!parts)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when taking %lld sparse tensors", (long long)count);
    while (parts && done < count && take_typed(c, m, done, &parts[done]))
        done++;
    if (done == count) bd_output_sparse_batch(c, parts, &batch, "rank", 1);
    for (int64_t i = 0; parts && i < count; i++)
        bd_sparse_part_fini(&parts[i]);
    bd_free(parts);
    bd_resource_unref(&m->base);
}

BD_OP(TakeManySparseFromTensorsMap) = {
    .signature =
        "(sparse_handles: int64) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    .attrs = "dtype:type; " MAP_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = take_shape,
    .kernels = BD_KERNELS({.run = take_run}),
    .doc = "Takes sparse tensors that have been added, as one whose first dimension is their place in "
           "sparse_handles.",
};
