# A program for TensorFlow 1, as it is: finds the line that points lie on.
import numpy as np
import tensorflow as tf

x = np.linspace(-1, 1, 64).astype(np.float32)
slope, offset = tf.Variable(0.0), tf.Variable(0.0)
points, values = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
loss = tf.reduce_mean(tf.square(slope * points + offset - values))
step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(100):
        session.run(step, {points: x, values: 3 * x + 2})
    print("y = %.2f x + %.2f" % tuple(session.run([slope, offset])))
