"""Batches of steps that run at the same time."""

from braid.tensorflow.python.framework import function
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import gen_batch_ops
from braid.tensorflow.python.util.tf_export import tf_export

batch = gen_batch_ops.batch
unbatch = gen_batch_ops.unbatch
unbatch_grad = gen_batch_ops.unbatch_grad


def check_tensors(args):
    """Raises ValueError unless all arguments of a decorated function are tensors."""
    for arg in args:
        if not isinstance(arg, ops.Tensor):
            raise ValueError(
                f"All arguments to functions decorated with `batch_function` must be Tensors; found {arg!r}"
            )


def _of_any_size(shape):
    """The shape with an unknown size along its first dimension."""
    if shape.ndims is None or shape.ndims == 0:
        return tensor_shape.unknown_shape()
    return tensor_shape.TensorShape([None]).concatenate(shape[1:])


@tf_export("nondifferentiable_batch_function")
def batch_function(
    num_batch_threads,
    max_batch_size,
    batch_timeout_micros,
    allowed_batch_sizes=None,
    max_enqueued_batches=10,
    autograph=True,
):
    """Decorates a function of tensors, so that steps that call it at the same time share one call of it.

    Arguments and results are put together and divided along their first dimension. A call has at most
    max_batch_size rows. It begins when it is full or its first step has waited for batch_timeout_micros, and
    is filled up to one of allowed_batch_sizes (increasing, the last one is max_batch_size) by copies of its
    first row. At most num_batch_threads calls run at the same time, and max_enqueued_batches wait. The
    decorated function gives a list of tensors, which have no gradients.
    """
    del autograph

    def decorator(fn):
        def decorated(*args):
            with ops.name_scope("batch") as name:
                check_tensors(args)
                shapes = [_of_any_size(arg.shape) for arg in args]

                @function.Defun(*[arg.dtype for arg in args])
                def computation(*batched):
                    for tensor, shape in zip(batched, shapes):
                        tensor.set_shape(shape)
                    return fn(*batched)

                computation.add_to_graph(ops.get_default_graph())
                return gen_batch_ops.batch_function(
                    num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros,
                    allowed_batch_sizes=allowed_batch_sizes or [],
                    max_enqueued_batches=max_enqueued_batches,
                    shared_name=name,
                    f=computation,
                    in_tensors=list(args),
                    captured_tensors=computation.captured_inputs,
                    Tout=[arg.type for arg in computation.definition.signature.output_arg],
                )

        return decorated

    return decorator
