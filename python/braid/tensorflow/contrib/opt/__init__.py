"""tf.contrib.opt: more optimizers, among them those of distributed training with copies of the model."""

from braid.tensorflow.contrib.opt.python.training.adam_gs_optimizer import AdamGSOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.adamax import AdaMaxOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.addsign import AddSignOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.agn_optimizer import (  # noqa: F401
    AGNCustomGetter,
    AGNOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.drop_stale_gradient_optimizer import (  # noqa: F401
    DropStaleGradientOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.elastic_average_optimizer import (  # noqa: F401
    ElasticAverageCustomGetter,
    ElasticAverageOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.external_optimizer import (  # noqa: F401
    ExternalOptimizerInterface,
    ScipyOptimizerInterface,
)
from braid.tensorflow.contrib.opt.python.training.ggt import GGTOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.lars_optimizer import LARSOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.lazy_adam_gs_optimizer import (  # noqa: F401
    LazyAdamGSOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.lazy_adam_optimizer import LazyAdamOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.model_average_optimizer import (  # noqa: F401
    ModelAverageCustomGetter,
    ModelAverageOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.moving_average_optimizer import (  # noqa: F401
    MovingAverageOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.multitask_optimizer_wrapper import (  # noqa: F401
    MultitaskOptimizerWrapper,
    clip_gradients_by_global_norm,
)
from braid.tensorflow.contrib.opt.python.training.nadam_optimizer import NadamOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.powersign import PowerSignOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.reg_adagrad_optimizer import (  # noqa: F401
    RegAdagradOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.shampoo import ShampooOptimizer  # noqa: F401
from braid.tensorflow.contrib.opt.python.training.variable_clipping_optimizer import (  # noqa: F401
    VariableClippingOptimizer,
)
from braid.tensorflow.contrib.opt.python.training.weight_decay_optimizers import (  # noqa: F401
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.opt.{name}"))
