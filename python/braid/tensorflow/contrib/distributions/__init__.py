"""tf.contrib.distributions: distributions beyond those of tf.distributions, and bijectors."""

from braid.tensorflow.contrib.distributions.python.ops import bijectors  # noqa: F401
from braid.tensorflow.contrib.distributions.python.ops.binomial import *
from braid.tensorflow.contrib.distributions.python.ops.cauchy import *
from braid.tensorflow.contrib.distributions.python.ops.chi2 import *
from braid.tensorflow.contrib.distributions.python.ops.conditional_distribution import *
from braid.tensorflow.contrib.distributions.python.ops.conditional_transformed_distribution import *
from braid.tensorflow.contrib.distributions.python.ops.deterministic import *
from braid.tensorflow.contrib.distributions.python.ops.geometric import *
from braid.tensorflow.contrib.distributions.python.ops.half_normal import *
from braid.tensorflow.contrib.distributions.python.ops.independent import *
from braid.tensorflow.contrib.distributions.python.ops.inverse_gamma import *
from braid.tensorflow.contrib.distributions.python.ops.kumaraswamy import *
from braid.tensorflow.contrib.distributions.python.ops.logistic import *
from braid.tensorflow.contrib.distributions.python.ops.mixture import *
from braid.tensorflow.contrib.distributions.python.ops.mixture_same_family import *
from braid.tensorflow.contrib.distributions.python.ops.moving_stats import *
from braid.tensorflow.contrib.distributions.python.ops.mvn_diag import *
from braid.tensorflow.contrib.distributions.python.ops.mvn_diag_plus_low_rank import *
from braid.tensorflow.contrib.distributions.python.ops.mvn_full_covariance import *
from braid.tensorflow.contrib.distributions.python.ops.mvn_tril import *
from braid.tensorflow.contrib.distributions.python.ops.negative_binomial import *
from braid.tensorflow.contrib.distributions.python.ops.normal_conjugate_posteriors import *
from braid.tensorflow.contrib.distributions.python.ops.poisson import *
from braid.tensorflow.contrib.distributions.python.ops.quantized_distribution import *
from braid.tensorflow.contrib.distributions.python.ops.relaxed_bernoulli import *
from braid.tensorflow.contrib.distributions.python.ops.sample_stats import *
from braid.tensorflow.contrib.distributions.python.ops.seed_stream import *
from braid.tensorflow.contrib.distributions.python.ops.sinh_arcsinh import *
from braid.tensorflow.contrib.distributions.python.ops.vector_exponential_diag import *
from braid.tensorflow.contrib.distributions.python.ops.vector_laplace_diag import *
from braid.tensorflow.contrib.distributions.python.ops.vector_sinh_arcsinh_diag import *
from braid.tensorflow.contrib.distributions.python.ops.wishart import *
from braid.tensorflow.contrib.distributions.python.ops.onehot_categorical import (
    OneHotCategorical,
)  # noqa: F401
from braid.tensorflow.contrib.distributions.python.ops.relaxed_onehot_categorical import (  # noqa: F401
    ExpRelaxedOneHotCategorical,
    RelaxedOneHotCategorical,
)
from braid.tensorflow.python.ops.distributions.bernoulli import Bernoulli  # noqa: F401
from braid.tensorflow.python.ops.distributions.beta import (  # noqa: F401
    Beta,
    BetaWithSoftplusConcentration,
)
from braid.tensorflow.python.ops.distributions.categorical import Categorical  # noqa: F401
from braid.tensorflow.python.ops.distributions.dirichlet import Dirichlet  # noqa: F401
from braid.tensorflow.python.ops.distributions.dirichlet_multinomial import DirichletMultinomial  # noqa: F401
from braid.tensorflow.python.ops.distributions.distribution import (  # noqa: F401
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from braid.tensorflow.python.ops.distributions.exponential import (  # noqa: F401
    Exponential,
    ExponentialWithSoftplusRate,
)
from braid.tensorflow.python.ops.distributions.gamma import (  # noqa: F401
    Gamma,
    GammaWithSoftplusConcentrationRate,
)
from braid.tensorflow.python.ops.distributions.kullback_leibler import RegisterKL  # noqa: F401
from braid.tensorflow.python.ops.distributions.kullback_leibler import kl_divergence  # noqa: F401
from braid.tensorflow.python.ops.distributions.kullback_leibler import kl_divergence as kl  # noqa: F401
from braid.tensorflow.python.ops.distributions.laplace import (  # noqa: F401
    Laplace,
    LaplaceWithSoftplusScale,
)
from braid.tensorflow.python.ops.distributions.multinomial import Multinomial  # noqa: F401
from braid.tensorflow.python.ops.distributions.normal import (  # noqa: F401
    Normal,
    NormalWithSoftplusScale,
)
from braid.tensorflow.python.ops.distributions.student_t import (  # noqa: F401
    StudentT,
    StudentTWithAbsDfSoftplusScale,
)
from braid.tensorflow.python.ops.distributions.transformed_distribution import (  # noqa: F401
    TransformedDistribution,
)
from braid.tensorflow.python.ops.distributions.uniform import Uniform  # noqa: F401
from braid.tensorflow.python.ops.distributions.util import (  # noqa: F401
    fill_triangular,
    fill_triangular_inverse,
    matrix_diag_transform,
    reduce_weighted_logsumexp,
    softplus_inverse,
    tridiag,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.distributions.{name}"))
