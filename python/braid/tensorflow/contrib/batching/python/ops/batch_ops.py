"""Batches by the ops Batch and Unbatch, which have gradients."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops.batch_ops import batch
from braid.tensorflow.python.ops.batch_ops import batch_function  # noqa: F401
from braid.tensorflow.python.ops.batch_ops import check_tensors
from braid.tensorflow.python.ops.batch_ops import unbatch


def batch_function_v1(
    num_batch_threads,
    max_batch_size,
    batch_timeout_micros,
    allowed_batch_sizes=None,
    grad_timeout_micros=60 * 1000 * 1000,
    unbatch_timeout_micros=60 * 1000 * 1000,
    max_enqueued_batches=10,
):
    """tf.nondifferentiable_batch_function with gradients: the function's nodes belong to the caller's graph.

    The timeouts are those of the waits for rows of results and of gradients.
    """

    def decorator(fn):
        def decorated(*args):
            with ops.name_scope("batch") as name:
                check_tensors(args)
                batched, batch_index, id_t = batch(
                    args,
                    num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros,
                    max_enqueued_batches=max_enqueued_batches,
                    allowed_batch_sizes=allowed_batch_sizes or [],
                    grad_timeout_micros=grad_timeout_micros,
                    shared_name=name,
                )
                outputs = fn(*batched)
                is_one = isinstance(outputs, ops.Tensor)
                with ops.name_scope("unbatch") as unbatch_name:
                    unbatched = [
                        unbatch(
                            t,
                            batch_index,
                            id_t,
                            timeout_micros=unbatch_timeout_micros,
                            shared_name=f"{unbatch_name}/{t.name}",
                        )
                        for t in ([outputs] if is_one else outputs)
                    ]
                return unbatched[0] if is_one else unbatched

        return decorated

    return decorator
