"""The module that programs import as tfe."""

from braid.tensorflow.contrib.eager import *  # noqa: F401, F403
from braid.tensorflow.contrib.eager import __getattr__  # noqa: F401
