"""Writes models of Keras as SavedModels by whatever `import tensorflow` finds, or loads another's.

    keras_models.py write DIRECTORY    a SavedModel of each kind of model, and of an object with a table
    keras_models.py read DIRECTORY     loads them by tf.keras.models.load_model, and the object

Both print what each gives for the same input as JSON. A model that was loaded is trained by a step.
"""

import contextlib
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

keras, layers = tf.keras, tf.keras.layers
IS_2 = tf.__version__.startswith("2.")


def dense():
    kernel = {"kernel_regularizer": keras.regularizers.l2(0.01), "kernel_initializer": "he_normal"}
    first = layers.Dense(8, activation="relu", input_shape=(4,), **kernel)
    return keras.Sequential([first, layers.Dropout(0.5), layers.Dense(3, activation="softmax")])


def convolutional():
    return keras.Sequential(
        [
            layers.Conv2D(4, 3, input_shape=(8, 8, 1)),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )


def recurrent():
    return keras.Sequential([layers.Embedding(10, 5, input_length=6), layers.LSTM(7), layers.Dense(2)])


def two_inputs():
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    x = layers.Concatenate()([layers.Dense(5)(a), b])
    return keras.Model([a, b], [layers.Dense(2, name="p")(x), layers.Dense(1, name="q")(x)])


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.norm = layers.Dense(6, activation="tanh"), layers.BatchNormalization()
        self.drop, self.last = layers.Dropout(0.5), layers.Dense(2)

    def call(self, inputs, training=False):
        x = self.norm(self.first(inputs), training=training)
        return self.last(self.drop(x, training=training))


MODELS = {f.__name__: f for f in (dense, convolutional, recurrent, two_inputs, Own)}
RANDOM = np.random.RandomState(1)
INPUTS = {
    "dense": RANDOM.rand(5, 4).astype("f"),
    "convolutional": RANDOM.rand(5, 8, 8, 1).astype("f"),
    "recurrent": RANDOM.randint(0, 10, (5, 6)).astype("f"),
    "two_inputs": [RANDOM.rand(5, 4).astype("f"), RANDOM.rand(5, 3).astype("f")],
    "Own": RANDOM.rand(5, 4).astype("f"),
}


def predictions(model, name):
    found = model.predict(INPUTS[name], verbose=0)
    return [y.tolist() for y in (found if isinstance(found, list) else [found])]


def targets(found):
    return [np.array(y) + 1 for y in found] if len(found) > 1 else np.array(found[0]) + 1


def words_object(directory):
    """An object with a table of a file; TensorFlow 2 gives it a function, too."""
    module = tf.Module()
    with open(directory + "/words", "w", encoding="utf-8") as file:
        file.write("one\ntwo\n")
    numbers = tf.lookup.TextFileInitializer(directory + "/words", tf.string, -2, tf.int64, -1)
    module.table = tf.lookup.StaticHashTable(numbers, -1)
    if IS_2:
        signature = [tf.TensorSpec([None], tf.string)]
        module.numbers = tf.function(lambda words: module.table.lookup(words), input_signature=signature)
    return module


def write(directory):
    found = {}
    for name, make in MODELS.items():
        model = make()
        model.compile("adam", "mse", metrics=["mae"])
        y = predictions(model, name)
        model.fit(INPUTS[name], targets(y), epochs=1, verbose=0)
        found[name] = predictions(model, name)
        model.save(f"{directory}/{name}", save_format="tf")
    if IS_2 or hasattr(tf, "__braid__"):
        module = words_object(directory)
        if IS_2:
            tf.saved_model.save(module, directory + "/words_object")
        else:
            with tf.Session().as_default():
                tf.saved_model.save(module, directory + "/words_object")
        os.remove(directory + "/words")
        found["words"] = [1, -1]
    return found


def read_words(directory):
    """The numbers of two words by the table of the object that was loaded."""
    words = tf.constant(["two", "three"])

    def numbers(loaded):
        if hasattr(loaded, "numbers"):
            return loaded.numbers(words)
        default = tf.constant(-1, tf.int64)
        handle = loaded.table.resource_handle
        return tf.raw_ops.LookupTableFindV2(table_handle=handle, keys=words, default_value=default)

    if IS_2:
        return numbers(tf.saved_model.load(directory + "/words_object")).numpy().tolist()
    with tf.Session() as session:
        found = numbers(tf.saved_model.load_v2(directory + "/words_object"))
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(found).tolist()


def read(directory):
    found = {}
    for name in MODELS:
        model = keras.models.load_model(f"{directory}/{name}")
        found[name] = predictions(model, name)
        if IS_2 or hasattr(tf, "__braid__"):  # gradients of 1.15's graphs fail in the functions of a call
            losses = model.fit(INPUTS[name], targets(found[name]), epochs=2, verbose=0).history["loss"]
            assert np.isfinite(losses).all() and len(model.metrics_names) > 1, (name, losses)
    if os.path.exists(directory + "/words_object"):
        with tf.Graph().as_default() if not IS_2 else contextlib.nullcontext():
            found["words"] = read_words(directory)
    return found


if __name__ == "__main__":
    print("RESULT", json.dumps({"write": write, "read": read}[sys.argv[1]](sys.argv[2])))
