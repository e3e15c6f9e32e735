// The TensorArray ops of older programs: the first version has references to strings as handles, the second
// strings.
#include "ops/common/handle.h"
#include "ops/tensor_array/tensor_array_ops.h"

// ---- References ----

BD_OP(TensorArray) = {
    .signature = "(size: int32) -> (handle: Ref(string))",
    .attrs =
        "dtype:type; dynamic_size:bool=false; clear_after_read:bool=true; tensor_array_name:string=''; element_shape:shape=?",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_new_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_run}),
    .doc = "An old form of TensorArrayV3.",
};

BD_OP(TensorArrayGrad) = {
    .signature = "(handle: string, flow_in: float) -> (grad_handle: Ref(string))",
    .attrs = "source:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = bd_tensor_array_grad_run}),
    .doc = "An old form of TensorArrayGradV3.",
};

BD_OP(TensorArrayWrite) = {
    .signature = "(handle: Ref(string), index: int32, value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .shape = bd_shape_fn_none,
    .gradient = bd_tensor_array_write_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_write_run}),
    .doc = "An old form of TensorArrayWriteV3.",
};

BD_OP(TensorArrayRead) = {
    .signature = "(handle: Ref(string), index: int32, flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type",
    .shape = bd_shape_fn_none,
    .gradient = bd_tensor_array_read_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_read_run}),
    .doc = "An old form of TensorArrayReadV3.",
};

BD_OP(TensorArrayPack) = {
    .signature = "(handle: Ref(string), flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type; element_shape:shape=?",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = bd_tensor_array_gather_run}),
    .doc = "All elements of an array of tensors, stacked; an old form of TensorArrayGatherV3.",
};

BD_OP(TensorArrayUnpack) = {
    .signature = "(handle: Ref(string), value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = bd_tensor_array_scatter_run}),
    .doc =
        "Writes the slices of a tensor along its first dimension to an array of as many tensors; an old form of TensorArrayScatterV3.",
};

BD_OP(TensorArrayGather) = {
    .signature = "(handle: Ref(string), indices: int32, flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type; element_shape:shape=?",
    .shape = bd_shape_fn_none,
    .gradient = bd_tensor_array_gather_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_gather_run}),
    .doc = "An old form of TensorArrayGatherV3.",
};

BD_OP(TensorArrayScatter) = {
    .signature = "(handle: Ref(string), indices: int32, value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .shape = bd_shape_fn_none,
    .gradient = bd_tensor_array_scatter_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_scatter_run}),
    .doc = "An old form of TensorArrayScatterV3.",
};

BD_OP(TensorArrayConcat) = {
    .signature = "(handle: Ref(string), flow_in: float) -> (value: dtype, lengths: int64)",
    .attrs = "dtype:type; element_shape_except0:shape=?",
    .shape = bd_shape_fn_none,
    .gradient = bd_tensor_array_concat_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_concat_run}),
    .doc = "An old form of TensorArrayConcatV3.",
};

BD_OP(TensorArraySplit) = {
    .signature = "(handle: Ref(string), value: T, lengths: int64, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .shape = bd_shape_fn_none,
    .gradient = bd_tensor_array_split_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_split_run}),
    .doc = "An old form of TensorArraySplitV3.",
};

BD_OP(TensorArraySize) = {
    .signature = "(handle: Ref(string), flow_in: float) -> (size: int32)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = bd_tensor_array_size_run}),
    .doc = "An old form of TensorArraySizeV3.",
};

BD_OP(TensorArrayClose) = {
    .signature = "(handle: Ref(string)) -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = bd_tensor_array_close_run}),
    .doc = "An old form of TensorArrayCloseV3.",
};

// ---- Strings ----

BD_OP(TensorArrayV2) = {
    .signature = "(size: int32) -> (handle: string)",
    .attrs =
        "dtype:type; element_shape:shape=?; dynamic_size:bool=false; clear_after_read:bool=true; tensor_array_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_new_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_run}),
    .doc = "An old form of TensorArrayV3.",
};

BD_OP(TensorArrayGradV2) = {
    .signature = "(handle: string, flow_in: float) -> (grad_handle: string)",
    .attrs = "source:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_grad_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_grad_run}),
    .doc = "An old form of TensorArrayGradV3.",
};

BD_OP(TensorArrayWriteV2) = {
    .signature = "(handle: string, index: int32, value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .shape = bd_tensor_array_write_shape,
    .gradient = bd_tensor_array_write_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_write_run}),
    .doc = "An old form of TensorArrayWriteV3.",
};

BD_OP(TensorArrayReadV2) = {
    .signature = "(handle: string, index: int32, flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type",
    .shape = bd_tensor_array_read_shape,
    .gradient = bd_tensor_array_read_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_read_run}),
    .doc = "An old form of TensorArrayReadV3.",
};

BD_OP(TensorArrayGatherV2) = {
    .signature = "(handle: string, indices: int32, flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type; element_shape:shape=?",
    .shape = bd_tensor_array_gather_shape,
    .gradient = bd_tensor_array_gather_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_gather_run}),
    .doc = "An old form of TensorArrayGatherV3.",
};

BD_OP(TensorArrayScatterV2) = {
    .signature = "(handle: string, indices: int32, value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .shape = bd_tensor_array_scatter_shape,
    .gradient = bd_tensor_array_scatter_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_scatter_run}),
    .doc = "An old form of TensorArrayScatterV3.",
};

BD_OP(TensorArrayConcatV2) = {
    .signature = "(handle: string, flow_in: float) -> (value: dtype, lengths: int64)",
    .attrs = "dtype:type; element_shape_except0:shape=?",
    .shape = bd_tensor_array_concat_shape,
    .gradient = bd_tensor_array_concat_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_concat_run}),
    .doc = "An old form of TensorArrayConcatV3.",
};

BD_OP(TensorArraySplitV2) = {
    .signature = "(handle: string, value: T, lengths: int64, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .shape = bd_tensor_array_split_shape,
    .gradient = bd_tensor_array_split_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_split_run}),
    .doc = "An old form of TensorArraySplitV3.",
};

BD_OP(TensorArraySizeV2) = {
    .signature = "(handle: string, flow_in: float) -> (size: int32)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_size_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_size_run}),
    .doc = "An old form of TensorArraySizeV3.",
};

BD_OP(TensorArrayCloseV2) = {
    .signature = "(handle: string) -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_ctx_handle,
    .kernels = BD_KERNELS({.run = bd_tensor_array_close_run}),
    .doc = "An old form of TensorArrayCloseV3.",
};
