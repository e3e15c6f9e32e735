"""Probability distributions (tf.distributions)."""

from braid.tensorflow.python.ops.distributions.bernoulli import Bernoulli
from braid.tensorflow.python.ops.distributions.beta import Beta
from braid.tensorflow.python.ops.distributions.categorical import Categorical
from braid.tensorflow.python.ops.distributions.dirichlet import Dirichlet
from braid.tensorflow.python.ops.distributions.dirichlet_multinomial import DirichletMultinomial
from braid.tensorflow.python.ops.distributions.distribution import Distribution
from braid.tensorflow.python.ops.distributions.distribution import FULLY_REPARAMETERIZED
from braid.tensorflow.python.ops.distributions.distribution import NOT_REPARAMETERIZED
from braid.tensorflow.python.ops.distributions.distribution import ReparameterizationType
from braid.tensorflow.python.ops.distributions.exponential import Exponential
from braid.tensorflow.python.ops.distributions.gamma import Gamma
from braid.tensorflow.python.ops.distributions.kullback_leibler import RegisterKL, kl_divergence
from braid.tensorflow.python.ops.distributions.laplace import Laplace
from braid.tensorflow.python.ops.distributions.multinomial import Multinomial
from braid.tensorflow.python.ops.distributions.normal import Normal
from braid.tensorflow.python.ops.distributions.student_t import StudentT
from braid.tensorflow.python.ops.distributions.uniform import Uniform
