"""The modes of a model function."""


class ModeKeys:
    """What a model function is called for. tf.estimator.ModeKeys has the same, but for INFER."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"
