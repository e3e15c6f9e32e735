"""The usual names of signatures, and of their methods, inputs and outputs."""

from braid.tensorflow.python.util.tf_export import tf_export

CLASSIFY_INPUTS = "inputs"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES = "classes"
CLASSIFY_OUTPUT_SCORES = "scores"
DEFAULT_EVAL_SIGNATURE_DEF_KEY = "eval"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
DEFAULT_TRAIN_SIGNATURE_DEF_KEY = "train"
PREDICT_INPUTS = "inputs"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
PREDICT_OUTPUTS = "outputs"
REGRESS_INPUTS = "inputs"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
REGRESS_OUTPUTS = "outputs"
SUPERVISED_EVAL_METHOD_NAME = "tensorflow/supervised/eval"
SUPERVISED_TRAIN_METHOD_NAME = "tensorflow/supervised/training"

tf_export("saved_model.CLASSIFY_INPUTS", "saved_model.signature_constants.CLASSIFY_INPUTS").export_constant(
    __name__, "CLASSIFY_INPUTS"
)
tf_export(
    "saved_model.CLASSIFY_METHOD_NAME", "saved_model.signature_constants.CLASSIFY_METHOD_NAME"
).export_constant(__name__, "CLASSIFY_METHOD_NAME")
tf_export(
    "saved_model.CLASSIFY_OUTPUT_CLASSES", "saved_model.signature_constants.CLASSIFY_OUTPUT_CLASSES"
).export_constant(__name__, "CLASSIFY_OUTPUT_CLASSES")
tf_export(
    "saved_model.CLASSIFY_OUTPUT_SCORES", "saved_model.signature_constants.CLASSIFY_OUTPUT_SCORES"
).export_constant(__name__, "CLASSIFY_OUTPUT_SCORES")
tf_export(
    "saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY",
).export_constant(__name__, "DEFAULT_SERVING_SIGNATURE_DEF_KEY")
tf_export("saved_model.PREDICT_INPUTS", "saved_model.signature_constants.PREDICT_INPUTS").export_constant(
    __name__, "PREDICT_INPUTS"
)
tf_export(
    "saved_model.PREDICT_METHOD_NAME", "saved_model.signature_constants.PREDICT_METHOD_NAME"
).export_constant(__name__, "PREDICT_METHOD_NAME")
tf_export("saved_model.PREDICT_OUTPUTS", "saved_model.signature_constants.PREDICT_OUTPUTS").export_constant(
    __name__, "PREDICT_OUTPUTS"
)
tf_export("saved_model.REGRESS_INPUTS", "saved_model.signature_constants.REGRESS_INPUTS").export_constant(
    __name__, "REGRESS_INPUTS"
)
tf_export(
    "saved_model.REGRESS_METHOD_NAME", "saved_model.signature_constants.REGRESS_METHOD_NAME"
).export_constant(__name__, "REGRESS_METHOD_NAME")
tf_export("saved_model.REGRESS_OUTPUTS", "saved_model.signature_constants.REGRESS_OUTPUTS").export_constant(
    __name__, "REGRESS_OUTPUTS"
)
