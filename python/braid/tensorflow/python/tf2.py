"""Whether TensorFlow 2's behaviour is on: never."""


def enable():
    raise NotImplementedError("Braid has the behaviour of TensorFlow 1")


def disable():
    pass


def enabled():
    return False
