"""The usual tags of graphs in saved models."""

from braid.tensorflow.python.util.tf_export import tf_export

EVAL = "eval"
GPU = "gpu"
SERVING = "serve"
TPU = "tpu"
TRAINING = "train"

tf_export("saved_model.GPU", "saved_model.tag_constants.GPU").export_constant(__name__, "GPU")
tf_export("saved_model.SERVING", "saved_model.tag_constants.SERVING").export_constant(__name__, "SERVING")
tf_export("saved_model.TPU", "saved_model.tag_constants.TPU").export_constant(__name__, "TPU")
tf_export("saved_model.TRAINING", "saved_model.tag_constants.TRAINING").export_constant(__name__, "TRAINING")
