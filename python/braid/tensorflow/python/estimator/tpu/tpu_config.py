"""RunConfig and TPUConfig, whose settings of TPUs have no effect."""

import collections
import enum

from braid.tensorflow.python.estimator import run_config as run_config_lib
from braid.tensorflow.python.util.tf_export import estimator_export


@estimator_export(v1=["estimator.tpu.InputPipelineConfig"])
class InputPipelineConfig(enum.Enum):
    """Which hosts of a TPU call the input function."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


@estimator_export(v1=["estimator.tpu.TPUConfig"])
class TPUConfig(
    collections.namedtuple(
        "TPUConfig",
        [
            "iterations_per_loop",
            "num_shards",
            "num_cores_per_replica",
            "per_host_input_for_training",
            "tpu_job_name",
            "initial_infeed_sleep_secs",
            "input_partition_dims",
            "eval_training_input_configuration",
            "experimental_host_call_every_n_steps",
        ],
        defaults=[2, None, None, True, None, None, None, InputPipelineConfig.PER_HOST_V1, 1],
    )
):
    """Settings of TPUs, which are not used."""


@estimator_export(v1=["estimator.tpu.RunConfig"])
class RunConfig(run_config_lib.RunConfig):
    """tf.estimator.RunConfig with a TPUConfig. A cluster is that of TF_CONFIG; `master` and `cluster` are of TPUs."""

    def __init__(self, tpu_config=None, evaluation_master=None, master=None, cluster=None, **kwargs):
        super().__init__(**kwargs)
        if cluster is not None:
            raise NotImplementedError("tpu.RunConfig(cluster=): clusters of TPUs; use TF_CONFIG")
        self._tpu_config = tpu_config or TPUConfig()
        self._cluster = None
        if master:
            self._master = master
        if evaluation_master:
            self._evaluation_master = evaluation_master

    @property
    def tpu_config(self):
        return self._tpu_config

    @property
    def cluster(self):
        return self._cluster

    def replace(self, **kwargs):
        tpu_config = kwargs.pop("tpu_config", self._tpu_config)
        result = super().replace(**kwargs)
        result._tpu_config = tpu_config
        return result
