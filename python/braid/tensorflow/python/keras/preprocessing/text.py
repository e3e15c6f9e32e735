"""Text: words, and their numbers."""

import collections
import hashlib
import json

import numpy as np

from braid.tensorflow.python.util.tf_export import keras_export

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


@keras_export("keras.preprocessing.text.text_to_word_sequence")
def text_to_word_sequence(text, filters=_FILTERS, lower=True, split=" "):
    """The words of a text; characters of `filters` are no part of words."""
    if lower:
        text = text.lower()
    text = text.translate({ord(c): split for c in filters})
    return [word for word in text.split(split) if word]


@keras_export("keras.preprocessing.text.hashing_trick")
def hashing_trick(text, n, hash_function=None, filters=_FILTERS, lower=True, split=" "):
    """Numbers in [1, n) of words, by a hash: Python's, or "md5"."""
    if hash_function is None:
        hash_function = hash
    elif hash_function == "md5":
        hash_function = lambda w: int(hashlib.md5(w.encode()).hexdigest(), 16)  # noqa: E731
    return [hash_function(w) % (n - 1) + 1 for w in text_to_word_sequence(text, filters, lower, split)]


@keras_export("keras.preprocessing.text.one_hot")
def one_hot(text, n, filters=_FILTERS, lower=True, split=" "):
    """hashing_trick by Python's hash."""
    return hashing_trick(text, n, hash, filters, lower, split)


@keras_export("keras.preprocessing.text.Tokenizer")
class Tokenizer:
    """Numbers words by how frequent they are, from 1 on.

    num_words: only those below it are used. char_level: characters in place of words. oov_token: has number 1
    and stands for unknown words, which are left out otherwise.
    """

    def __init__(
        self,
        num_words=None,
        filters=_FILTERS,
        lower=True,
        split=" ",
        char_level=False,
        oov_token=None,
        document_count=0,
        **kwargs,
    ):
        if "nb_words" in kwargs:
            num_words = kwargs.pop("nb_words")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.word_counts = collections.OrderedDict()
        self.word_docs = collections.defaultdict(int)
        self.index_docs = collections.defaultdict(int)
        self.filters, self.split, self.lower = filters, split, lower
        self.num_words, self.document_count = num_words, document_count
        self.char_level, self.oov_token = char_level, oov_token
        self.word_index, self.index_word = {}, {}

    def _words(self, text):
        if self.char_level or isinstance(text, list):
            if not self.lower:
                return text
            return [t.lower() for t in text] if isinstance(text, list) else text.lower()
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts):
        """Takes the words of texts in."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = sorted(self.word_counts.items(), key=lambda pair: pair[1], reverse=True)
        names = ([] if self.oov_token is None else [self.oov_token]) + [word for word, _ in ordered]
        self.word_index = {word: i for i, word in enumerate(names, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences):
        """Takes sequences of numbers in."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for i in set(sequence):
                self.index_docs[i] += 1

    def texts_to_sequences(self, texts):
        """The numbers of each text's words."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts):
        unknown = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = []
            for word in self._words(text):
                i = self.word_index.get(word)
                if i is not None and not (self.num_words and i >= self.num_words):
                    numbers.append(i)
                elif unknown is not None:
                    numbers.append(unknown)
            yield numbers

    def sequences_to_texts(self, sequences):
        """Texts of numbers."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences):
        unknown = self.word_index.get(self.oov_token)
        for sequence in sequences:
            words = []
            for i in sequence:
                word = self.index_word.get(i)
                if word is not None and not (self.num_words and i >= self.num_words):
                    words.append(word)
                elif unknown is not None:
                    words.append(self.index_word[unknown])
            yield " ".join(words)

    def texts_to_matrix(self, texts, mode="binary"):
        """sequences_to_matrix of texts."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode=mode)

    def sequences_to_matrix(self, sequences, mode="binary"):
        """An array [texts, words]. mode: "binary", "count", "freq", "tfidf"."""
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        size = self.num_words or len(self.word_index) + 1
        result = np.zeros((len(sequences), size))
        for row, sequence in enumerate(sequences):
            counts = collections.Counter(i for i in sequence if i < size)
            for i, count in counts.items():
                if mode == "count":
                    result[row, i] = count
                elif mode == "freq":
                    result[row, i] = count / len(sequence)
                elif mode == "binary":
                    result[row, i] = 1
                elif mode == "tfidf":
                    idf = np.log(1 + self.document_count / (1 + self.index_docs.get(i, 0)))
                    result[row, i] = (1 + np.log(count)) * idf
                else:
                    raise ValueError("Unknown vectorization mode:", mode)
        return result

    def get_config(self):
        return {
            "num_words": self.num_words,
            "filters": self.filters,
            "lower": self.lower,
            "split": self.split,
            "char_level": self.char_level,
            "oov_token": self.oov_token,
            "document_count": self.document_count,
            "word_counts": json.dumps(self.word_counts),
            "word_docs": json.dumps(self.word_docs),
            "index_docs": json.dumps(self.index_docs),
            "index_word": json.dumps(self.index_word),
            "word_index": json.dumps(self.word_index),
        }

    def to_json(self, **kwargs):
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


@keras_export("keras.preprocessing.text.tokenizer_from_json")
def tokenizer_from_json(json_string):
    """The Tokenizer of what to_json has written."""
    config = json.loads(json_string)["config"]
    tables = {
        k: json.loads(config.pop(k))
        for k in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    tokenizer = Tokenizer(**config)
    tokenizer.word_counts = collections.OrderedDict(tables["word_counts"])
    tokenizer.word_docs.update(tables["word_docs"])
    tokenizer.index_docs.update({int(k): v for k, v in tables["index_docs"].items()})
    tokenizer.index_word = {int(k): v for k, v in tables["index_word"].items()}
    tokenizer.word_index = tables["word_index"]
    return tokenizer
