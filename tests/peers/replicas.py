"""A task of a program of TensorFlow 1 that trains on several tasks, for tests of clusters of two kinds.

    replicas.py KIND JOB TASK CLUSTER STEPS [DIRECTORY]

KIND: "between" (each worker has a graph, parameters are on ps), "within" (worker 0 has one graph that
computes on all workers; the others only serve). CLUSTER is the cluster as JSON. A worker that trains prints
"loss", the loss of its last step, and the variables.
"""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

if not hasattr(tf, "placeholder"):
    tf = tf.compat.v1
    tf.disable_v2_behavior()

KIND, JOB, TASK, CLUSTER, STEPS = sys.argv[1:6]
TASK, STEPS, CLUSTER = int(TASK), int(STEPS), json.loads(CLUSTER)
DIRECTORY = sys.argv[6] if len(sys.argv) > 6 else None


def batch(random):
    x = random.rand(20, 4).astype(np.float32)
    return x, np.tanh(x @ [[1.0], [-2.0], [0.5], [3.0]] + 0.25).astype(np.float32)


def model(x, y):
    hidden = tf.layers.dense(x, 8, tf.nn.tanh, name="hidden", reuse=tf.AUTO_REUSE)
    made = tf.layers.dense(hidden, 1, name="out", reuse=tf.AUTO_REUSE)
    return tf.losses.mean_squared_error(y, made)


def between(server):
    device = f"/job:worker/task:{TASK}"
    with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=CLUSTER)):
        step = tf.train.get_or_create_global_step()
        x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
        loss = model(x, y)
        train = tf.train.AdamOptimizer(0.01).minimize(loss, step)
    random = np.random.RandomState(TASK)
    config = tf.ConfigProto(device_filters=["/job:ps", device])
    hooks = [tf.train.StopAtStepHook(last_step=STEPS)]
    last = None
    with tf.train.MonitoredTrainingSession(
        server.target, TASK == 0, DIRECTORY if TASK == 0 else None, hooks=hooks, config=config
    ) as session:
        while not session.should_stop():
            a, b = batch(random)
            last = session.run([train, loss], {x: a, y: b})[1]
    return last


def within(server):
    count = len(CLUSTER["worker"])
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER)):
        step = tf.train.get_or_create_global_step()
        x, y = tf.placeholder(tf.float32, [20, 4]), tf.placeholder(tf.float32, [20, 1])
    losses = []
    for i, (a, b) in enumerate(zip(tf.split(x, count), tf.split(y, count))):
        with tf.device(
            tf.train.replica_device_setter(worker_device=f"/job:worker/task:{i}", cluster=CLUSTER)
        ):
            losses.append(model(a, b))
    loss = tf.add_n(losses) / count
    train = tf.train.AdamOptimizer(0.01).minimize(loss, step, colocate_gradients_with_ops=True)
    random = np.random.RandomState(TASK)
    last = None
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            a, b = batch(random)
            last = session.run([train, loss], {x: a, y: b})[1]
    return last


def main():
    server = tf.train.Server(CLUSTER, JOB, TASK)
    if JOB == "ps" or KIND == "within" and TASK > 0:
        print("serving", flush=True)
        server.join()
        return
    last = {"between": between, "within": within}[KIND](server)
    print(f"loss {last:.6f}" if last is not None else "loss none", flush=True)


if __name__ == "__main__":
    main()
