// BytesInUse, MaxBytesInUse and BytesLimit: how much memory the tensors of this process take.
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "tensor/buffer.h"

static void put(bd_op_ctx *c, int64_t value)
{
    const braid_shape scalar = {0};
    braid_tensor *out = bd_output(c, 0, BRAID_INT64, &scalar);
    if (out) *bd_tensor_i64(out) = value;
}

static void in_use_run(bd_op_ctx *c)
{
    put(c, (int64_t)bd_buffer_pool_get_stats().bytes_in_use);
}

static void most_run(bd_op_ctx *c)
{
    put(c, (int64_t)bd_buffer_pool_get_stats().bytes_most);
}

static void limit_run(bd_op_ctx *c)
{
    const size_t limit = bd_buffer_pool_get_stats().bytes_limit;
    put(c, limit > INT64_MAX ? -1 : (int64_t)limit);
}

BD_OP(BytesInUse) = {
    .signature = "() -> (out: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = in_use_run}),
    .doc = "The bytes that the tensors of this process take, of all sessions.",
    .deviation = "TensorFlow has a kernel for GPUs only.",
};

BD_OP(MaxBytesInUse) = {
    .signature = "() -> (out: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = most_run}),
    .doc =
        "The most bytes that this process has had from the system for tensors at a time, free ones included.",
    .deviation = "TensorFlow has a kernel for GPUs only, which does not count free memory.",
};

BD_OP(BytesLimit) = {
    .signature = "() -> (out: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = limit_run}),
    .doc = "The most bytes that this process takes for tensors; -1: there is no limit.",
};
