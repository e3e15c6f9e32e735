"""A task of a program of TensorFlow 1 that trains on several tasks, for tests of clusters of two kinds.

    replicas.py KIND JOB TASK CLUSTER STEPS [DIRECTORY]

KIND: "between" (each worker has a graph, parameters are on ps), "within" (worker 0 has one graph that
computes on all workers; the others only serve), "calls" (worker 0 calls functions on all tasks by RemoteCall;
the others only serve). CLUSTER is the cluster as JSON. A worker that trains prints
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


def calls(server):
    """Each function adds to a variable of the task that it runs on. Returns 0."""
    from tensorflow.python.framework import function
    from tensorflow.python.ops import functional_ops

    def variable():
        return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="counter")

    @function.Defun(tf.float32, tf.float32)
    def count(x, y):
        with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=variable(), value=x * y)]):
            return tf.raw_ops.ReadVariableOp(resource=variable(), dtype=tf.float32), tf.constant("done")

    @function.Defun(tf.float32)
    def fail(x):
        return tf.reshape(x, [2], name="broken")

    @function.Defun(tf.float32)
    def wait(x):
        queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32], shapes=[[]], shared_name="never")
        return tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.float32])[0] + x

    tasks = [f"/job:{job}/replica:0/task:{i}" for job, all in CLUSTER.items() for i in range(len(all))]
    target = tf.placeholder(tf.string, [])
    with tf.device("/job:worker/task:0/cpu:0"):
        x = tf.placeholder(tf.float32, [])
        counted = functional_ops.remote_call(target, [x, x], [tf.float32, tf.string], count)
        failed = functional_ops.remote_call(target, [x], [tf.float32], fail)
        waiting = functional_ops.remote_call(target, [x], [tf.float32], wait)
    reads = []
    for i, task in enumerate(tasks):
        with tf.device(task):
            tf.add_to_collection("init", tf.raw_ops.AssignVariableOp(resource=variable(), value=100.0 * i))
            reads.append(tf.raw_ops.ReadVariableOp(resource=variable(), dtype=tf.float32))
    with tf.Session(server.target) as session:
        session.run(tf.get_collection("init"))
        for i, task in enumerate(tasks):
            feeds = {target: task + "/cpu:0", x: 3.0}
            for times in (1, 2):
                assert session.run(counted, feeds) == [100.0 * i + 9 * times, b"done"], task
            try:
                session.run(failed, feeds)
                assert False, task
            except tf.errors.InvalidArgumentError as error:
                assert "Input to reshape is a tensor with 1 values" in str(error), error
                assert "broken" in str(error), error
            if "braid" not in sys.modules:
                # TensorFlow leaves the function to run, and its session is not closed before it ends.
                continue
            try:
                session.run(waiting, feeds, options=tf.RunOptions(timeout_in_ms=500))
                assert False, task
            except tf.errors.DeadlineExceededError:
                pass
        assert session.run(reads) == [100.0 * i + 18 for i in range(len(tasks))]
    return 0.0


def main():
    server = tf.train.Server(CLUSTER, JOB, TASK)
    if JOB == "ps" or KIND in ("within", "calls") and TASK > 0:
        print("serving", flush=True)
        server.join()
        return
    last = {"between": between, "within": within, "calls": calls}[KIND](server)
    print(f"loss {last:.6f}" if last is not None else "loss none", flush=True)


if __name__ == "__main__":
    main()
