"""What the modules of tf.signal share."""


def gcd(a, b):
    """The greatest common divisor."""
    while b:
        a, b = b, a % b
    return a
