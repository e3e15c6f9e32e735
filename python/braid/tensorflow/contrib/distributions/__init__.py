"""tf.contrib.distributions: the distributions of tf.distributions, and normal ones of vectors."""

from braid.tensorflow.contrib.distributions.mvn import MultivariateNormalDiag
from braid.tensorflow.contrib.distributions.mvn import MultivariateNormalDiagWithSoftplusScale
from braid.tensorflow.contrib.distributions.mvn import MultivariateNormalTriL
from braid.tensorflow.contrib.distributions.relaxed import ExpRelaxedOneHotCategorical
from braid.tensorflow.contrib.distributions.relaxed import OneHotCategorical
from braid.tensorflow.contrib.distributions.relaxed import RelaxedOneHotCategorical
from braid.tensorflow.contrib.distributions.util import fill_triangular
from braid.tensorflow.contrib.distributions.util import softplus_inverse
from braid.tensorflow.python.ops.distributions.bernoulli import Bernoulli
from braid.tensorflow.python.ops.distributions.beta import Beta, BetaWithSoftplusConcentration
from braid.tensorflow.python.ops.distributions.categorical import Categorical
from braid.tensorflow.python.ops.distributions.dirichlet import Dirichlet
from braid.tensorflow.python.ops.distributions.dirichlet_multinomial import DirichletMultinomial
from braid.tensorflow.python.ops.distributions.distribution import Distribution
from braid.tensorflow.python.ops.distributions.distribution import FULLY_REPARAMETERIZED
from braid.tensorflow.python.ops.distributions.distribution import NOT_REPARAMETERIZED
from braid.tensorflow.python.ops.distributions.distribution import ReparameterizationType
from braid.tensorflow.python.ops.distributions.exponential import Exponential
from braid.tensorflow.python.ops.distributions.exponential import ExponentialWithSoftplusRate
from braid.tensorflow.python.ops.distributions.gamma import Gamma
from braid.tensorflow.python.ops.distributions.gamma import GammaWithSoftplusConcentrationRate
from braid.tensorflow.python.ops.distributions.kullback_leibler import RegisterKL
from braid.tensorflow.python.ops.distributions.kullback_leibler import kl_divergence as kl
from braid.tensorflow.python.ops.distributions.kullback_leibler import kl_divergence
from braid.tensorflow.python.ops.distributions.laplace import Laplace, LaplaceWithSoftplusScale
from braid.tensorflow.python.ops.distributions.multinomial import Multinomial
from braid.tensorflow.python.ops.distributions.normal import Normal, NormalWithSoftplusScale
from braid.tensorflow.python.ops.distributions.student_t import StudentT
from braid.tensorflow.python.ops.distributions.uniform import Uniform
