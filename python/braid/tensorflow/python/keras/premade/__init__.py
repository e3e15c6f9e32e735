"""Models that are ready to be trained."""


def __getattr__(name):
    from braid.tensorflow.python.keras import _find

    return _find(__name__, name)
