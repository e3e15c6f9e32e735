"""Gradients: what programs import from here."""

from braid.tensorflow.python.ops.gradients_impl import *
from braid.tensorflow.python.ops.gradients_impl import AggregationMethod, gradients, hessians
