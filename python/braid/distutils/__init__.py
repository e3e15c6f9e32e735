"""The part of distutils that programs of TensorFlow 1's time use: comparing versions. Python 3.12 has it no
more.

`python3 -m braid` gives it to programs that import `distutils` where that is not installed.
"""
