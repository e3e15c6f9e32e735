"""The part of Abseil's Python library that TensorFlow's own modules show: flags, the start of programs,
logging.

tf.flags and tf.app use the real `absl` where it is installed, so that a program that imports both sees the
same flags. Where it is not, they use this, and `python3 -m braid` gives it to programs that import `absl`.
"""
