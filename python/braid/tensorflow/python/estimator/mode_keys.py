"""The modes of a model function."""

from braid.tensorflow.python.util.tf_export import estimator_export


@estimator_export("estimator.ModeKeys")
class ModeKeys:
    """What a model function builds: TRAIN, EVAL or PREDICT."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


def is_predict(mode):
    return mode == ModeKeys.PREDICT


def is_eval(mode):
    return mode == ModeKeys.EVAL


def is_train(mode):
    return mode == ModeKeys.TRAIN
