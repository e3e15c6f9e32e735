"""Models of images. Their weights are read from files in ~/.keras/models; nothing is downloaded."""


def __getattr__(name):
    from braid.tensorflow.python.keras import _find

    return _find(__name__, name)
