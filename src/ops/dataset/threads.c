// Pools of threads for datasets. A task's datasets share its threads, so a pool is a name, and its dataset
// the same dataset.
#include "base/alloc.h"
#include "ops/common/handle.h"
#include "ops/dataset/dataset.h"

static void destroy_pool(bd_resource *r)
{
    bd_free(r);
}

static const bd_resource_type pool_type = {.name = "tensorflow::data::ThreadPoolResource",
                                           .destroy = destroy_pool};

static braid_code create_pool(void *arg, bd_resource **out, braid_status *st)
{
    (void)arg, (void)st;
    *out = bd_calloc(1, sizeof **out);
    bd_resource_init(*out, &pool_type);
    return BRAID_OK;
}

static braid_code handle_create(const braid_op *node, void *state, braid_status *st)
{
    if (bd_node_attr_int(node, "num_threads") <= 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "`num_threads` must be greater than zero.");
    bd_handle_source_init(state, node, &pool_type);
    return BRAID_OK;
}

static void handle_destroy(void *state)
{
    bd_handle_source_fini(state);
}

static void handle_run(bd_op_ctx *c)
{
    bd_resource_unref(bd_handle_source_output(c, c->state, create_pool, NULL));
}

#define HANDLE_OP                                                                                            \
    {                                                                                                        \
        .signature = "() -> (handle: resource)",                                                             \
        .attrs = "num_threads:int; max_intra_op_parallelism:int=1; display_name:string; "                    \
                 "container:string=''; shared_name:string=''",                                               \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                     \
        .kernels = BD_KERNELS({.state_size = sizeof(bd_handle_source),                                       \
                               .create = handle_create,                                                      \
                               .destroy = handle_destroy,                                                    \
                               .run = handle_run}),                                                          \
        .doc = "A pool of threads by name, for ThreadPoolDataset."                                           \
    }

BD_OP(ThreadPoolHandle) = HANDLE_OP;
BD_OP(ExperimentalThreadPoolHandle) = HANDLE_OP;

static void pool_run(bd_op_ctx *c)
{
    bd_resource *pool = bd_input_resource(c, 1, &pool_type);
    bd_dataset *d = pool ? bd_input_dataset(c, 0) : NULL;
    if (d) bd_output_dataset(c, bd_dataset_ref(d));
    bd_resource_unref(pool);
}

#define POOL_OP                                                                                              \
    {                                                                                                        \
        .signature = "(input_dataset: variant, thread_pool: resource) -> (handle: variant)",                 \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,                       \
        .shape = bd_shape_fn_scalar, .kernels = BD_KERNELS({.run = pool_run}),                               \
        .deviation = "It runs on the threads that the task has.",                                            \
        .doc = "The same dataset: it runs on the threads that the task has."                                 \
    }

BD_OP(ThreadPoolDataset) = POOL_OP;
BD_OP(ExperimentalThreadPoolDataset) = POOL_OP;
