"""Text as numbers (tf.contrib.learn.preprocessing)."""

from braid.tensorflow.contrib.learn.python.learn.preprocessing.categorical_vocabulary import (  # noqa: F401
    CategoricalVocabulary,
)
from braid.tensorflow.contrib.learn.python.learn.preprocessing.text import ByteProcessor  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn.preprocessing.text import VocabularyProcessor  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn.preprocessing.text import tokenizer  # noqa: F401
