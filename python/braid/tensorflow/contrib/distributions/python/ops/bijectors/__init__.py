"""tf.contrib.distributions.bijectors: invertible functions."""

from braid.tensorflow.contrib.distributions.python.ops.bijectors.absolute_value import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.affine import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.affine_linear_operator import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.affine_scalar import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.batch_normalization import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.chain import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.cholesky_outer_product import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.conditional_bijector import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.exp import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.fill_triangular import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.gumbel import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.inline import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.invert import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.kumaraswamy import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.masked_autoregressive import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.matrix_inverse_tril import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.ordered import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.permute import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.power_transform import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.real_nvp import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.reshape import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.scale_tril import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.sigmoid import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.sinh_arcsinh import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.softmax_centered import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.softplus import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.softsign import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.square import *
from braid.tensorflow.contrib.distributions.python.ops.bijectors.transform_diagonal import *
from braid.tensorflow.python.ops.distributions.bijector import Bijector  # noqa: F401
from braid.tensorflow.python.ops.distributions.identity_bijector import Identity  # noqa: F401
