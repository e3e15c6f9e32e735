"""The model of the tutorial "TensorFlow Mechanics 101": two hidden layers on MNIST."""

import math

import braid.tensorflow as tf

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _layer(scope, inputs, inputs_size, units, activation=None):
    with tf.name_scope(scope):
        first = tf.truncated_normal([inputs_size, units], stddev=1.0 / math.sqrt(float(inputs_size)))
        weights = tf.Variable(first, name="weights")
        biases = tf.Variable(tf.zeros([units]), name="biases")
        outputs = tf.matmul(inputs, weights) + biases
        return activation(outputs) if activation else outputs


def inference(images, hidden1_units, hidden2_units):
    """Logits [batch, NUM_CLASSES] for images [batch, IMAGE_PIXELS]."""
    hidden1 = _layer("hidden1", images, IMAGE_PIXELS, hidden1_units, tf.nn.relu)
    hidden2 = _layer("hidden2", hidden1, hidden1_units, hidden2_units, tf.nn.relu)
    return _layer("softmax_linear", hidden2, hidden2_units, NUM_CLASSES)


def loss(logits, labels):
    """The mean cross entropy for labels [batch] of integers."""
    return tf.losses.sparse_softmax_cross_entropy(labels=tf.to_int64(labels), logits=logits)


def training(loss, learning_rate):
    """The op that makes a step of gradient descent, which counts in the variable global_step."""
    tf.summary.scalar("loss", loss)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    return tf.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits, labels):
    """How many of the batch are right, int32."""
    correct = tf.nn.in_top_k(logits, labels, 1)
    return tf.reduce_sum(tf.cast(correct, tf.int32))
