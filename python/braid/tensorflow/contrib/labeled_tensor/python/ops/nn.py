"""Functions of tf.nn on LabeledTensors."""

from braid.tensorflow.contrib import nn as contrib_nn
from braid.tensorflow.contrib.labeled_tensor.python.ops import core
from braid.tensorflow.python.ops import nn

relu = core.define_unary_op("relu", nn.relu)
relu6 = core.define_unary_op("relu6", nn.relu6)
crelu = core.define_unary_op("crelu", nn.crelu)
elu = core.define_unary_op("elu", nn.elu)
softplus = core.define_unary_op("softplus", nn.softplus)
l2_loss = core.define_unary_op("l2_loss", nn.l2_loss)
softmax = core.define_unary_op("softmax", nn.softmax)
log_softmax = core.define_unary_op("log_softmax", nn.log_softmax)

# (logits, labels), in the order of TensorFlow before 1.0
sigmoid_cross_entropy_with_logits = core.define_binary_op(
    "sigmoid_cross_entropy_with_logits", contrib_nn.deprecated_flipped_sigmoid_cross_entropy_with_logits
)
softmax_cross_entropy_with_logits = core.define_binary_op(
    "softmax_cross_entropy_with_logits", contrib_nn.deprecated_flipped_softmax_cross_entropy_with_logits
)
sparse_softmax_cross_entropy_with_logits = core.define_binary_op(
    "sparse_softmax_cross_entropy_with_logits",
    contrib_nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
)
