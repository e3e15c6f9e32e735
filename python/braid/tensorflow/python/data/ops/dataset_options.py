"""Options of pipelines (tf.data.Options)."""

import enum

from braid.tensorflow.python.data.util import options as options_lib
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.ThreadingOptions")
class ThreadingOptions(options_lib.OptionsBase):
    """On how many threads a pipeline runs: within an op, and in a pool of its own."""

    _OPTIONS = {"max_intra_op_parallelism": (int, None), "private_threadpool_size": (int, None)}


@tf_export("data.experimental.StatsOptions")
class StatsOptions(options_lib.OptionsBase):
    """Where the statistics of a pipeline go."""

    _OPTIONS = {
        "aggregator": (object, None),
        "prefix": (str, ""),
        "counter_prefix": (str, ""),
        "latency_all_edges": (bool, None),
    }


@tf_export("data.experimental.MapVectorizationOptions")
class MapVectorizationOptions(options_lib.OptionsBase):
    """How functions of elements become functions of batches in TensorFlow; Braid's engine does not change
    them.
    """

    _OPTIONS = {"enabled": (bool, None), "use_choose_fastest": (bool, None)}

    def _static_optimizations(self):
        return ["map_vectorization"] if self.enabled else []

    def _static_optimization_configs(self):
        return [f"map_vectorization:use_choose_fastest:{'true' if self.use_choose_fastest else 'false'}"]


@tf_export("data.experimental.AutoShardPolicy")
class AutoShardPolicy(enum.IntEnum):
    """How workers share a dataset: not at all, by files where there are any, by files, by elements."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2


@tf_export("data.experimental.OptimizationOptions")
class OptimizationOptions(options_lib.OptionsBase):
    """How pipelines are rewritten in TensorFlow.

    Braid's engine fuses shuffles with their repetitions, which gives another order; the others do not change
    elements, and it does not need them.
    """

    _BY_DEFAULT = ("map_and_batch_fusion", "noop_elimination", "shuffle_and_repeat_fusion")
    _OTHERS = (
        "filter_fusion",
        "filter_with_random_uniform_fusion",
        "hoist_random_uniform",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "parallel_batch",
    )
    _OPTIONS = {
        name: (bool, None)
        for name in ("apply_default_optimizations", "autotune", "autotune_buffers", *_BY_DEFAULT, *_OTHERS)
    }
    _OPTIONS.update(
        autotune_algorithm=(int, None),
        autotune_cpu_budget=(int, None),
        map_vectorization=(MapVectorizationOptions, MapVectorizationOptions),
    )

    def _static_optimizations(self):
        names = {name for name in (*self._BY_DEFAULT, *self._OTHERS) if getattr(self, name)}
        if self.apply_default_optimizations is not False:
            names.update(name for name in self._BY_DEFAULT if getattr(self, name) is not False)
        names.update(self.map_vectorization._static_optimizations())
        if self.autotune is not False and self.autotune_buffers:
            names.add("inject_prefetch")
        return sorted(names)


@tf_export("data.experimental.DistributeOptions")
class DistributeOptions(options_lib.OptionsBase):
    """How a dataset is shared out to replicas."""

    _OPTIONS = {
        "auto_shard": (bool, True),
        "auto_shard_policy": (AutoShardPolicy, AutoShardPolicy.AUTO),
        "num_devices": (int, None),
        "_make_stateless": (bool, None),
    }


@tf_export("data.Options")
class Options(options_lib.OptionsBase):
    """Options of a pipeline: Dataset.with_options."""

    _OPTIONS = {
        "experimental_deterministic": (bool, None),
        "experimental_distribute": (DistributeOptions, DistributeOptions),
        "experimental_optimization": (OptimizationOptions, OptimizationOptions),
        "experimental_slack": (bool, None),
        "experimental_stats": (StatsOptions, StatsOptions),
        "experimental_threading": (ThreadingOptions, ThreadingOptions),
        "experimental_stateful_whitelist": (object, None),
    }

    def _static_optimizations(self):
        """The rewrites of pipelines that are enabled, in the order of TensorFlow."""
        names = self.experimental_optimization._static_optimizations()
        if self.experimental_deterministic is False:
            names.append("make_sloppy")
        if self.experimental_stats.latency_all_edges:
            names.append("latency_all_edges")
        if self.experimental_slack:
            names.append("slack")
        if self.experimental_distribute._make_stateless:
            names.append("make_stateless")
        return names

    def _static_optimization_configs(self):
        configs = self.experimental_optimization.map_vectorization._static_optimization_configs()
        if self.experimental_slack:
            configs.append("slack:slack_period:%d" % (self.experimental_distribute.num_devices or 1))
        return configs

    def merge(self, options):
        """These options with those of another, which decides."""
        return options_lib.merge_options(self, options)
