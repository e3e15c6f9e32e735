"""Sums over devices, built of ops of the graph (tf.contrib.all_reduce)."""

from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_nccl_all_reduce
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_nccl_then_recursive_hd
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_nccl_then_ring
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_nccl_then_shuffle
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_recursive_hd_all_reduce
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_ring_all_reduce
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_shuffle_all_reduce
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_shuffle_then_ring
from braid.tensorflow.contrib.all_reduce.python.all_reduce import build_shuffle_then_shuffle


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.all_reduce.{name}"))
