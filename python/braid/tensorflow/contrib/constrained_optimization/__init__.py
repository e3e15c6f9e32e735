"""tf.contrib.constrained_optimization: training under constraints (Cotter et al., arXiv 1804.06500)."""

from braid.tensorflow.contrib.constrained_optimization.python import constrained_minimization_problem
from braid.tensorflow.contrib.constrained_optimization.python.candidates import (  # noqa: F401
    find_best_candidate_distribution,
    find_best_candidate_index,
)
from braid.tensorflow.contrib.constrained_optimization.python.constrained_optimizer import (  # noqa: F401
    ConstrainedOptimizer,
)
from braid.tensorflow.contrib.constrained_optimization.python.external_regret_optimizer import (  # noqa: F401
    AdditiveExternalRegretOptimizer,
)
from braid.tensorflow.contrib.constrained_optimization.python.swap_regret_optimizer import (  # noqa: F401
    AdditiveSwapRegretOptimizer,
    MultiplicativeSwapRegretOptimizer,
)

ConstrainedMinimizationProblem = constrained_minimization_problem.ConstrainedMinimizationProblem
