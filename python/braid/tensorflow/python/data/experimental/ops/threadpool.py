"""Threads of pipelines."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops


class PrivateThreadPool:
    """A pool of `num_threads` threads; the engine runs pipelines on those that the task has."""

    def __init__(self, num_threads, display_name=None, max_intra_op_parallelism=1):
        self._resource = gen_experimental_dataset_ops.thread_pool_handle(
            num_threads=num_threads,
            max_intra_op_parallelism=max_intra_op_parallelism,
            display_name=display_name or "",
        )


def override_threadpool(dataset, thread_pool):
    """The dataset, which asks for a pool."""
    return dataset_ops._Unchanged(
        dataset, gen_experimental_dataset_ops.thread_pool_dataset, thread_pool=thread_pool._resource
    )
