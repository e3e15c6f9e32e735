"""tf.contrib.opt: more optimizers, among them those of distributed training with copies of the model."""

from braid.tensorflow.contrib.opt.python.training.elastic_average_optimizer import (  # noqa: F401
    ElasticAverageCustomGetter,
    ElasticAverageOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.external_optimizer import (  # noqa: F401
    ExternalOptimizerInterface,
    ScipyOptimizerInterface,
)
from braid.tensorflow.contrib.opt.python.training.lars_optimizer import LARSOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.lazy_adam_optimizer import LazyAdamOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.model_average_optimizer import (  # noqa: F401
    ModelAverageCustomGetter,
    ModelAverageOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.moving_average_optimizer import (  # noqa: F401
    MovingAverageOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.nadam_optimizer import NadamOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.weight_decay_optimizers import (  # noqa: F401
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.opt.{name}"))
