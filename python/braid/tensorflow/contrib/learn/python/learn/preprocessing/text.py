"""Documents as arrays of the numbers of their words."""

import pickle
import re

import numpy as np

from braid.tensorflow.contrib.learn.python.learn.preprocessing import categorical_vocabulary
from braid.tensorflow.python.platform import gfile

# Words: capitals, the parts of CamelCase, and letters, digits, "'" and "-".
TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)
CategoricalVocabulary = categorical_vocabulary.CategoricalVocabulary


def tokenizer(iterator):
    """The words of each string."""
    for value in iterator:
        yield TOKENIZER_RE.findall(value)


class ByteProcessor:
    """Documents as arrays of bytes, cut or filled with 0 to one length."""

    def __init__(self, max_document_length):
        self.max_document_length = max_document_length

    def fit(self, x):
        return self

    def fit_transform(self, x):
        return self.transform(x)

    def transform(self, x):
        """Yields a uint8 array for each document: a str or bytes."""
        for document in x:
            data = document.encode("utf-8") if isinstance(document, str) else document
            padded = data[: self.max_document_length].ljust(self.max_document_length, b"\0")
            yield np.frombuffer(padded, dtype=np.uint8)

    def reverse(self, x):
        """Yields the text of each array; b"" where it is none."""
        for data in x:
            text = np.trim_zeros(np.asarray(data, np.uint8), "b").tobytes()
            try:
                yield text.decode("utf-8")
            except UnicodeDecodeError:
                yield ""


class VocabularyProcessor:
    """Documents as int64 arrays of the numbers of their words, cut or filled with 0 to one length.

    min_frequency: rarer words are unknown. vocabulary: a CategoricalVocabulary to begin with. tokenizer_fn:
    gives the words of each document.
    """

    def __init__(self, max_document_length, min_frequency=0, vocabulary=None, tokenizer_fn=None):
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents, unused_y=None):
        """Learns the words of documents. Others are unknown from then on."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents, unused_y=None):
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents):
        """Yields the array of each document."""
        for tokens in self._tokenizer(raw_documents):
            word_ids = np.zeros(self.max_document_length, np.int64)
            for i, token in zip(range(self.max_document_length), tokens):
                word_ids[i] = self.vocabulary_.get(token)
            yield word_ids

    def reverse(self, documents):
        """Yields the words of each array, between spaces."""
        for document in documents:
            yield " ".join(self.vocabulary_.reverse(class_id) for class_id in document)

    def save(self, filename):
        """Writes this object to a file, by pickle."""
        with gfile.Open(filename, "wb") as f:
            f.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename):
        """Reads an object that `save` has written. Only files that are trusted: pickle runs what they say."""
        with gfile.Open(filename, "rb") as f:
            return pickle.loads(f.read())
