// The ops of iterators whose elements are sharded over several devices.
#include "ops/common/anonymous.h"
#include "ops/common/handle.h"
#include "ops/dataset/multi_device.h"

// ---- Making and deleting ----

static braid_code source_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_handle_source_init(state, node, &bd_multi_device_type);
    return BRAID_OK;
}

static void source_destroy(void *state)
{
    bd_handle_source_fini(state);
}

static void source_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r = bd_handle_source_output(c, c->state, bd_multi_device_create, (void *)c->node);
    if (!r) return;
    if (bd_multi_device_check(r, c->node, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

BD_OP(MultiDeviceIterator) = {
    .signature = "() -> (handle: resource)",
    .attrs = "devices:list(string)>=1; shared_name:string; container:string; " BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_handle_source),
                           .create = source_create,
                           .destroy = source_destroy,
                           .run = source_run}),
    .doc = "An iterator whose elements go to `devices` in turn; MultiDeviceIteratorInit gives it a dataset.",
};

static void anonymous_run(bd_op_ctx *c)
{
    bd_output_anonymous(c, "AnonymousMultiDeviceIterator", &bd_multi_device_type, bd_multi_device_create,
                        (void *)c->node);
}

BD_OP(AnonymousMultiDeviceIterator) = {
    .signature = "() -> (handle: resource, deleter: variant)",
    .attrs = "devices:list(string)>=1; " BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = anonymous_run}),
    .doc =
        "A new iterator for several devices for each execution, which stops when the last reference to `deleter` is dropped.",
};

BD_OP(AnonymousMultiDeviceIteratorV3) = {
    .signature = "() -> (handle: resource)",
    .attrs = "devices:list(string)>=1; " BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = anonymous_run}),
    .deviation = "It lives as long as its container, also without references to its handle.",
    .doc = "A new iterator for several devices each time, under a name of its own.",
};

static void delete_run(bd_op_ctx *c)
{
    bd_delete_anonymous(c, &bd_multi_device_type);
}

BD_OP(DeleteMultiDeviceIterator) = {
    .signature = "(multi_device_iterator: resource, iterators: N*resource, deleter: variant) -> ()",
    .attrs = "N:int>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = delete_run}),
    .doc = "Deletes an iterator for several devices; executions that wait for its elements are cancelled.",
};

// ---- Initializing ----

static void init_on_disk(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t max_buffer_size, incarnation;
    if (!bd_input_scalar_int(c, 2, "max_buffer_size", &max_buffer_size)) return;
    bd_dataset *d = bd_input_dataset(c, 0);
    bd_resource *r = d ? bd_input_resource(c, 1, &bd_multi_device_type) : NULL;
    if (!r) return;
    if (bd_multi_device_set(r, d, max_buffer_size, c->step, &incarnation, st)) {
        bd_op_fail_status(c, st);
    } else {
        braid_tensor *y = bd_output(c, 0, BRAID_INT64, &BD_SCALAR);
        if (y) bd_tensor_i64(y)[0] = incarnation;
    }
    bd_resource_unref(r);
}

// Beginning a dataset may look at files.
static void init_start(bd_op_ctx *c)
{
    bd_op_run_io(c, init_on_disk);
}

BD_OP(MultiDeviceIteratorInit) = {
    .signature = "(dataset: variant, multi_device_iterator: resource, max_buffer_size: int64) -> "
                 "(incarnation_id: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.start = init_start}),
    .doc =
        "Sets an iterator for several devices to the beginning of a dataset, with up to `max_buffer_size` elements "
        "got ready for each; the id tells this pass from those before.",
};

// ---- Elements ----

static void get_next_start(bd_op_ctx *c)
{
    int64_t incarnation;
    bool ok = bd_input_scalar(c, 1, "shard_num", BRAID_INT32) &&
              bd_input_scalar_int(c, 2, "incarnation_id", &incarnation);
    bd_resource *r = ok ? bd_input_resource(c, 0, &bd_multi_device_type) : NULL;
    if (!r) {
        bd_op_done(c);
        return;
    }
    bd_multi_device_get_next(r, c, bd_tensor_i32(bd_input(c, 1))[0], incarnation);
    bd_resource_unref(r);
}

BD_OP(MultiDeviceIteratorGetNextFromShard) = {
    .signature = "(multi_device_iterator: resource, shard_num: int32, incarnation_id: int64) -> "
                 "(components: output_types...)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_output_shapes,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .start = get_next_start}),
    .doc = "The next element for one of the devices, which take turns; OutOfRange at the end.",
};
