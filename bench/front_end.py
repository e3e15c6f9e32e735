"""Programs of TensorFlow 1 on Braid's front end and on TensorFlow 2's tf.compat.v1, side by side.

    front_end.py PYTHON_OF_TENSORFLOW PACKAGE_DIRECTORY [ROUNDS [NAME...]]

Each measure runs in processes of its own, ROUNDS times (5) in turn; the table has the medians and the ratio,
Braid's time (or memory) by TensorFlow's. NAMEs are of the rows to measure. As a program (`front_end.py --run
NAME`, `front_end.py --task JOB TASK CLUSTER`) it measures with whatever `import tensorflow` finds.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import time


def tensorflow():
    import tensorflow

    if hasattr(tensorflow, "compat") and not hasattr(tensorflow, "placeholder"):
        tensorflow = tensorflow.compat.v1
        tensorflow.disable_v2_behavior()
    return tensorflow


def per_call(call, seconds=1.0):
    """The least time of a call, of several runs of some calls each."""
    for _ in range(3):
        call()
    start = time.perf_counter()
    call()
    count = max(1, int(seconds / 5 / max(time.perf_counter() - start, 1e-7)))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best


def session(tf, threads=1):
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    made = tf.Session(config=config)
    made.run(tf.global_variables_initializer())
    return made


def import_():
    """Importing, in a new process, with a constant made."""
    start = time.perf_counter()
    tensorflow().constant(1)
    return time.perf_counter() - start


def scalar_fetch():
    tf = tensorflow()
    value = tf.constant(1.0)
    run = session(tf).run
    return per_call(lambda: run(value))


def scalar_feed():
    tf = tensorflow()
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    run = session(tf).run
    return per_call(lambda: run(y, {x: 1.0}))


def graph_of_1000_nodes():
    tf = tensorflow()

    def build():
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 10])
            for _ in range(1000):
                x = tf.nn.relu(x)

    return per_call(build)


def batch(tf, *shape):
    import numpy as np

    return np.random.RandomState(1).rand(*shape).astype(np.float32)


def train_step(tf, loss, feeds, threads, optimizer=None):
    train = (optimizer or tf.train.AdamOptimizer(1e-4)).minimize(loss)
    run = session(tf, threads).run
    return per_call(lambda: run(train, feeds), 3.0)


def labels(tf, count):
    import numpy as np

    return np.eye(10, dtype=np.float32)[np.arange(count) % 10]


def mnist_loss(tf):
    """784-100-10; the loss and the feeds of a batch of 100."""
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    w1 = tf.Variable(tf.truncated_normal([784, 100], stddev=0.1, seed=1))
    w2 = tf.Variable(tf.truncated_normal([100, 10], stddev=0.1, seed=1))
    h = tf.nn.relu(tf.matmul(x, w1) + tf.Variable(tf.zeros([100])))
    logits = tf.matmul(h, w2) + tf.Variable(tf.zeros([10]))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    return loss, {x: batch(tf, 100, 784), y: labels(tf, 100)}


def mnist(threads=1):
    """With SGD."""
    tf = tensorflow()
    loss, feeds = mnist_loss(tf)
    return train_step(tf, loss, feeds, threads, tf.train.GradientDescentOptimizer(0.01))


def cnn(threads=1):
    """The network of the deep MNIST tutorial, batches of 50, Adam."""
    tf = tensorflow()
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])

    def layer(x, *shape):
        w = tf.Variable(tf.truncated_normal(shape, stddev=0.1, seed=1))
        b = tf.Variable(tf.constant(0.1, shape=shape[-1:]))
        if len(shape) == 4:
            h = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME") + b)
            return tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        return tf.matmul(x, w) + b

    h = layer(layer(tf.reshape(x, [-1, 28, 28, 1]), 5, 5, 1, 32), 5, 5, 32, 64)
    h = tf.nn.relu(layer(tf.reshape(h, [-1, 7 * 7 * 64]), 7 * 7 * 64, 1024))
    logits = layer(h, 1024, 10)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    return train_step(tf, loss, {x: batch(tf, 50, 784), y: labels(tf, 50)}, threads)


def lstm(threads=1):
    """28 steps of 28 numbers, 128 units by a tf.while_loop, batches of 128, Adam."""
    tf = tensorflow()
    x, y = tf.placeholder(tf.float32, [128, 28, 28]), tf.placeholder(tf.float32, [128, 10])
    w = tf.Variable(tf.truncated_normal([28 + 128, 4 * 128], stddev=0.1, seed=1))
    b = tf.Variable(tf.zeros([4 * 128]))
    out = tf.Variable(tf.truncated_normal([128, 10], stddev=0.1, seed=1))
    steps = tf.transpose(x, [1, 0, 2])

    def body(t, c, h):
        i, j, f, o = tf.split(tf.matmul(tf.concat([steps[t], h], 1), w) + b, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        return t + 1, c, tf.tanh(c) * tf.sigmoid(o)

    zeros = tf.zeros([128, 128])
    _, _, h = tf.while_loop(lambda t, c, h: t < 28, body, [0, zeros, zeros])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=tf.matmul(h, out)))
    return train_step(tf, loss, {x: batch(tf, 128, 28, 28), y: labels(tf, 128)}, threads)


TRAINED_S = 5.0


def task(job, number, cluster):
    """A task of the MNIST program: one parameter server, and workers that train asynchronously."""
    tf = tensorflow()
    cluster = json.loads(cluster)
    server = tf.train.Server(cluster, job, int(number))
    if job == "ps":
        server.join()
    device = f"/job:worker/task:{number}"
    with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        loss, feeds = mnist_loss(tf)
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step)
    config = tf.ConfigProto(device_filters=["/job:ps", device])
    with tf.train.MonitoredTrainingSession(server.target, number == "0", config=config) as session:
        for _ in range(100):
            session.run(train, feeds)
        print("ready", flush=True)
        sys.stdin.readline()
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < TRAINED_S:
            session.run(train, feeds)
            count += 1
        print(count, flush=True)
        sys.stdin.readline()  # until the memory is measured


def memory(pid):
    """RSS and PSS of a process, in bytes."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        kib = {line.split()[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}
    return kib["Rss:"] * 1024, kib["Pss:"] * 1024


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_cluster(command, env, workers=2):
    """Seconds a step of the cluster takes, its processor time, and the parameter server's RSS and PSS."""
    sockets = [socket.socket() for _ in range(1 + workers)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    cluster = json.dumps({"ps": addresses[:1], "worker": addresses[1:]})
    tasks = [("ps", 0)] + [("worker", i) for i in range(workers)]
    pipe = subprocess.PIPE
    run = [
        subprocess.Popen(
            [*command, __file__, "--task", job, str(i), cluster],
            env=env,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for job, i in tasks
    ]
    try:
        for w in run[1:]:
            while w.stdout.readline().strip() != "ready":
                if w.poll() is not None:
                    sys.exit(f"{' '.join(command)}: a worker ended with {w.returncode}")
        used = sum(cpu_seconds(process.pid) for process in run)
        for w in run[1:]:
            print(file=w.stdin, flush=True)
        steps = sum(int(w.stdout.readline()) for w in run[1:])
        used = sum(cpu_seconds(process.pid) for process in run) - used
        return (TRAINED_S / steps, used / steps, *memory(run[0].pid))
    finally:
        for process in run:
            process.kill()
            process.communicate()


IN_CLUSTER = (
    "MNIST step of 1 ps and 2 workers",
    "  processor time of all three",
    "  RSS of the ps",
    "  PSS of the ps",
)
MEASURES = {
    "import": import_,
    "a scalar fetched": scalar_fetch,
    "a scalar fed and fetched": scalar_feed,
    "a graph of 1000 nodes built": graph_of_1000_nodes,
    "MNIST step, 1 thread": mnist,
    "MNIST step, 2 threads": lambda: mnist(2),
    "convolutional step, 1 thread": cnn,
    "convolutional step, 2 threads": lambda: cnn(2),
    "LSTM step, 1 thread": lstm,
    "LSTM step, 2 threads": lambda: lstm(2),
}


def environment(package=None):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "PYTHON"))}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "3", **({"PYTHONPATH": package} if package else {})}


def measure(command, env, name):
    done = subprocess.run([*command, __file__, "--run", name], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {name} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def main(peer, package, rounds=5, *names):
    ours = (["/usr/bin/python3", "-m", "braid"], environment(package))
    theirs = ([peer], environment())
    print(f"{'':32} {'Braid':>10} {'TensorFlow':>10}  ratio")
    for name in names or MEASURES:
        if name not in MEASURES:
            continue
        times = ([], [])
        for _ in range(int(rounds)):
            for kept, (command, env) in zip(times, (ours, theirs)):
                kept.append(measure(command, env, name))
        a, b = (statistics.median(t) for t in times)
        print(f"{name:32} {a * 1e3:8.3f}ms {b * 1e3:8.3f}ms  {a / b:.2f}", flush=True)
    if names and IN_CLUSTER[0] not in names:
        return
    runs = [(in_cluster(*ours), in_cluster(*theirs)) for _ in range(int(rounds))]
    for i, name in enumerate(IN_CLUSTER):
        a, b = (statistics.median(run[j][i] for run in runs) for j in range(2))
        scale, unit = (1e3, "ms") if i < 2 else (1e-6, "MB")
        print(f"{name:32} {a * scale:8.3f}{unit} {b * scale:8.3f}{unit}  {a / b:.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        print(MEASURES[sys.argv[2]]())
    elif sys.argv[1] == "--task":
        task(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
