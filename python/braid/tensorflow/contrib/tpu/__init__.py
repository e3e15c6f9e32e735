"""tf.contrib.tpu, for programs that run without a TPU, too (use_tpu=False)."""

from braid.tensorflow.contrib.tpu.python.tpu.tpu_optimizer import CrossShardOptimizer  # noqa: F401
from braid.tensorflow.python.estimator.tpu.tpu_config import (  # noqa: F401
    InputPipelineConfig,
    RunConfig,
    TPUConfig,
)
from braid.tensorflow.python.estimator.tpu.tpu_estimator import TPUEstimator, TPUEstimatorSpec  # noqa: F401


def cross_replica_sum(x, group_assignment=None, name=None):
    """x: there is one replica."""
    from braid.tensorflow.python.ops import array_ops

    return array_ops.identity(x, name=name)


def _refused(name):
    def fn(*args, **kwargs):
        raise NotImplementedError(f"tf.contrib.tpu.{name}: there are no TPUs")

    return fn


initialize_system = _refused("initialize_system")
shutdown_system = _refused("shutdown_system")
bfloat16_scope = _refused("bfloat16_scope")
rewrite = _refused("rewrite")
replicate = _refused("replicate")
shard = _refused("shard")
batch_parallel = _refused("batch_parallel")
keras_to_tpu_model = _refused("keras_to_tpu_model")
TPUDistributionStrategy = _refused("TPUDistributionStrategy")


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.tpu.{name}"))
