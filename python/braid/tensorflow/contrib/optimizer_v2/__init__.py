"""tf.contrib.optimizer_v2: optimizers whose state is given to their updates, and whose hyperparameters may be
functions, which make a tensor for each apply_gradients.
"""

from braid.tensorflow.contrib.optimizer_v2.optimizer_v2_symbols import *  # noqa: F401,F403
