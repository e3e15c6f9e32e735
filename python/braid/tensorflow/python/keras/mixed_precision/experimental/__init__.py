"""Computing in half precision with variables in single precision."""


def __getattr__(name):
    from braid.tensorflow.python.keras import _find

    return _find(__name__, name)
