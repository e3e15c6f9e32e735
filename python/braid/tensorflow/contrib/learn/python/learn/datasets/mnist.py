"""MNIST, from its files: see braid.tensorflow.examples.tutorials.mnist.input_data."""

from braid.tensorflow.examples.tutorials.mnist.input_data import DataSet  # noqa: F401
from braid.tensorflow.examples.tutorials.mnist.input_data import DEFAULT_SOURCE_URL  # noqa: F401
from braid.tensorflow.examples.tutorials.mnist.input_data import dense_to_one_hot  # noqa: F401
from braid.tensorflow.examples.tutorials.mnist.input_data import extract_images  # noqa: F401
from braid.tensorflow.examples.tutorials.mnist.input_data import extract_labels  # noqa: F401
from braid.tensorflow.examples.tutorials.mnist.input_data import load_mnist  # noqa: F401
from braid.tensorflow.examples.tutorials.mnist.input_data import read_data_sets  # noqa: F401
