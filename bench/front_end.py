"""Programs of TensorFlow 1, for Braid's front end and for TensorFlow 2's tf.compat.v1: the same text measures both.

    front_end.py NAME [ARGUMENT...]

It answers each line "go STEPS" of standard input with a number, mostly nanoseconds per step (see program.py).
What each NAME measures is said at its function below; `task` is for processes that the program starts itself.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from free_ports import free_addresses


def tensorflow():
    import tensorflow

    if hasattr(tensorflow, "compat") and not hasattr(tensorflow, "placeholder"):
        tensorflow = tensorflow.compat.v1
        tensorflow.disable_v2_behavior()
    return tensorflow


# ---- The protocol ----


def serve(measure):
    """Answers with measure(steps) until the end of standard input."""
    for line in sys.stdin:
        print(measure(int(line.split()[1])), flush=True)


def timed(call, units=1):
    """Nanoseconds of a call, which counts as so many steps."""

    def measure(steps):
        start = time.perf_counter_ns()
        for _ in range(steps):
            call()
        return (time.perf_counter_ns() - start) / (steps * units)

    return measure


def session(tf, threads=1):
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    made = tf.Session(config=config)
    made.run(tf.global_variables_initializer())
    return made


# ---- Sessions and graphs ----


def import_():
    """The start of a process; the driver takes its time until the answer."""
    tensorflow().constant(1)
    return timed(lambda: None)


def fetch():
    """A scalar fetched."""
    tf = tensorflow()
    value = tf.constant(1.0)
    run = session(tf).run
    return timed(lambda: run(value))


def feed():
    """A scalar fed and fetched."""
    tf = tensorflow()
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    run = session(tf).run
    return timed(lambda: run(y, {x: 1.0}))


def build():
    """A graph of 1000 nodes."""
    tf = tensorflow()

    def make():
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 10])
            for _ in range(1000):
                x = tf.nn.relu(x)

    return timed(make)


WIDTH = 100


def graph_def(tf, count):
    """Scalars in layers of 100: each node adds two neighbours of the layer before. "end" is the last layer's sum."""
    made = tf.GraphDef()
    for i in range(count):
        node = made.node.add(name=f"n{i}")
        layer, column = divmod(i, WIDTH)
        if layer:
            node.op = "Add"
            node.attr["T"].type = 1
            node.input.extend(f"n{(layer - 1) * WIDTH + c}" for c in (column, (column + 1) % WIDTH))
            continue
        # All are placeholders, so that no two nodes are the same.
        node.op = "Placeholder"
        node.attr["dtype"].type = 1
        node.attr["shape"].shape.SetInParent()
    end = made.node.add(name="end", op="AddN", input=[f"n{i}" for i in range(count - WIDTH, count)])
    end.attr["T"].type, end.attr["N"].i = 1, WIDTH
    return made


def graph(what, count):
    """A graph of COUNT nodes: its `import`, the `first` run of a session, or the `next` ones."""
    tf = tensorflow()
    made = graph_def(tf, int(count))

    def imported():
        with tf.Graph().as_default() as g:
            tf.import_graph_def(made, name="")
        return g

    if what == "import":
        return timed(imported)
    g = imported()
    end = g.get_tensor_by_name("end:0")
    feeds = {g.get_tensor_by_name(f"n{i}:0"): float(i) for i in range(WIDTH)}

    def first():
        with tf.Session(graph=g) as s:
            s.run(end, feeds)

    if what == "first":
        return timed(first)
    run = tf.Session(graph=g).run
    return timed(lambda: run(end, feeds))


# ---- Training in one process ----


def batch(*shape):
    return np.random.RandomState(1).rand(*shape).astype(np.float32)


def labels(count):
    return np.eye(10, dtype=np.float32)[np.arange(count) % 10]


def entropy(tf, y, logits):
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))


def train_step(tf, loss, feeds, threads, optimizer):
    train = optimizer.minimize(loss)
    run = session(tf, int(threads)).run
    return timed(lambda: run(train, feeds))


def mnist_loss(tf):
    """784-100-10; the loss and the feeds of a batch of 100."""
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    w1 = tf.Variable(tf.truncated_normal([784, 100], stddev=0.1, seed=1))
    w2 = tf.Variable(tf.truncated_normal([100, 10], stddev=0.1, seed=1))
    h = tf.nn.relu(tf.matmul(x, w1) + tf.Variable(tf.zeros([100])))
    logits = tf.matmul(h, w2) + tf.Variable(tf.zeros([10]))
    return entropy(tf, y, logits), {x: batch(100, 784), y: labels(100)}


def mnist(threads):
    """With SGD."""
    tf = tensorflow()
    return train_step(tf, *mnist_loss(tf), threads, tf.train.GradientDescentOptimizer(0.01))


def cnn(threads):
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
    loss = entropy(tf, y, layer(h, 1024, 10))
    return train_step(tf, loss, {x: batch(50, 784), y: labels(50)}, threads, tf.train.AdamOptimizer(1e-4))


def lstm(threads):
    """tf.nn.dynamic_rnn over 100 steps of 32 numbers, 128 units, batches of 128, Adam."""
    tf = tensorflow()
    x, y = tf.placeholder(tf.float32, [None, 100, 32]), tf.placeholder(tf.float32, [None, 10])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(128), x, dtype=tf.float32)
    w = tf.Variable(tf.truncated_normal([128, 10], stddev=0.1, seed=1))
    loss = entropy(tf, y, tf.matmul(outputs[:, -1], w))
    optimizer = tf.train.AdamOptimizer(1e-4)
    return train_step(tf, loss, {x: batch(128, 100, 32), y: labels(128)}, threads, optimizer)


def resnet(threads):
    """ResNet-20 on 32 x 32 images (He et al., 2015, section 4.2), batches of 32, momentum."""
    tf = tensorflow()
    x, y = tf.placeholder(tf.float32, [32, 32, 32, 3]), tf.placeholder(tf.float32, [32, 10])

    def conv(x, depth, stride=1, size=3):
        shape = [size, size, x.shape.as_list()[3], depth]
        w = tf.Variable(tf.truncated_normal(shape, stddev=(2 / (size * size * depth)) ** 0.5, seed=1))
        scale, offset = tf.Variable(tf.ones([depth])), tf.Variable(tf.zeros([depth]))
        return tf.nn.fused_batch_norm(tf.nn.conv2d(x, w, [1, stride, stride, 1], "SAME"), scale, offset)[0]

    h = tf.nn.relu(conv(x, 16))
    for depth in (16, 32, 64):
        for _ in range(3):
            stride = depth // h.shape.as_list()[3]
            kept = h if stride == 1 else conv(h, depth, 2, 1)
            h = tf.nn.relu(kept + conv(tf.nn.relu(conv(h, depth, stride)), depth))
    w = tf.Variable(tf.truncated_normal([64, 10], stddev=0.1, seed=1))
    loss = entropy(tf, y, tf.matmul(tf.reduce_mean(h, [1, 2]), w))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    return train_step(tf, loss, {x: batch(32, 32, 32, 3), y: labels(32)}, threads, optimizer)


ROWS = 10_000_000


def wide_deep(threads):
    """Wide and deep (Cheng et al., 2016): two tables of 10 million rows, ten ids an example, batches of 512."""
    tf = tensorflow()
    ids, y = tf.placeholder(tf.int64, [None, 10]), tf.placeholder(tf.float32, [None, 1])

    def table(width):
        return tf.Variable(tf.random_uniform([ROWS, width], -0.01, 0.01, seed=1))

    def dense(x, units):
        w = tf.Variable(tf.truncated_normal([x.shape.as_list()[1], units], stddev=0.1, seed=1))
        return tf.matmul(x, w) + tf.Variable(tf.zeros([units]))

    wide, deep = table(1), table(8)
    first = tf.global_variables()[:1]
    h = tf.reshape(tf.nn.embedding_lookup(deep, ids), [-1, 80])
    logits = dense(tf.nn.relu(dense(tf.nn.relu(dense(h, 100)), 50)), 1)
    logits += tf.reduce_sum(tf.nn.embedding_lookup(wide, ids), 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.group(
        tf.train.FtrlOptimizer(0.1).minimize(loss, var_list=first),
        tf.train.AdagradOptimizer(0.01).minimize(loss, var_list=tf.trainable_variables()[1:]),
    )
    run = session(tf, int(threads)).run
    random = np.random.RandomState(1)
    feeds = [{ids: random.randint(0, ROWS, [512, 10]), y: batch(512, 1).round()} for _ in range(16)]
    turn = iter(range(1 << 60))
    return timed(lambda: run(train, feeds[next(turn) % 16]))


# ---- Input ----

RECORDS, EXAMPLES = 20_000, 100


def input_(way):
    """A record of a TFRecord file: read, shuffled, parsed, in batches of 100. WAY: parsed each alone, by
    two at a time (`map`), or as batches (`batch`)."""
    tf = tensorflow()
    features = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}

    def decoded(parsed):
        return tf.cast(tf.decode_raw(parsed["image"], tf.uint8), tf.float32) / 255.0, parsed["label"]

    file = tempfile.NamedTemporaryFile(prefix="braid-bench-", suffix=".tfrecord")
    with tf.python_io.TFRecordWriter(file.name) as writer:
        image = np.random.RandomState(1).bytes(784)
        for i in range(RECORDS):
            example = tf.train.Example()
            example.features.feature["image"].bytes_list.value.append(image)
            example.features.feature["label"].int64_list.value.append(i % 10)
            writer.write(example.SerializeToString())
    records = tf.data.TFRecordDataset(file.name).repeat().shuffle(1000)
    if way == "map":
        parsed = records.map(lambda r: decoded(tf.parse_single_example(r, features)), 2).batch(EXAMPLES)
    else:
        parsed = records.batch(EXAMPLES).map(lambda r: decoded(tf.parse_example(r, features)), 2)
    following = tf.data.make_one_shot_iterator(parsed.prefetch(2)).get_next()
    sum_ = tf.reduce_sum(following[1])
    run = tf.Session().run
    call = lambda: run((sum_, following[0].op))
    call.file = file  # lives as long
    return timed(call, EXAMPLES)


# ---- Clusters ----


def own_command():
    at = next(i for i, word in enumerate(sys.orig_argv) if word.endswith("front_end.py"))
    return sys.orig_argv[: at + 1]


class Cluster:
    """A parameter server and workers; this process is the first one."""

    def __init__(self, workers=1):
        self.workers = workers
        addresses = free_addresses(1 + workers)
        self.json = json.dumps({"ps": addresses[:1], "worker": addresses[1:]})
        self.others = [self.start("ps", 0)] + [self.start("worker", i) for i in range(1, workers)]

    def start(self, job, number):
        return subprocess.Popen(
            [*own_command(), "task", job, str(number), self.json],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def each_other(self, line):
        for worker in self.others[1:]:
            print(line, file=worker.stdin, flush=True)

    def answers(self):
        return [worker.stdout.readline() for worker in self.others[1:]]

    def pids(self):
        return [os.getpid()] + [process.pid for process in self.others]


def worker_step(tf, number, cluster):
    """A session of worker NUMBER of the MNIST program, which trains asynchronously; returns its step."""
    cluster = json.loads(cluster)
    server = tf.train.Server(cluster, "worker", number)
    device = f"/job:worker/task:{number}"
    with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        loss, feeds = mnist_loss(tf)
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step)
    config = tf.ConfigProto(device_filters=["/job:ps", device])
    run = tf.train.MonitoredTrainingSession(server.target, number == 0, config=config).run
    return lambda: run(train, feeds)


def task(job, number, cluster):
    """A process of the cluster that is not the first worker."""
    tf = tensorflow()
    if job == "ps":
        tf.train.Server(json.loads(cluster), "ps", int(number)).join()
    measure = timed(worker_step(tf, int(number), cluster))
    print("ready", flush=True)
    return measure


def cpu_ns(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 10**9 / os.sysconf("SC_CLK_TCK")


def memory(pid, what):
    """Rss or Pss of a process, in bytes."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(what))


def ps(workers, what="time"):
    """Asynchronous MNIST with a parameter server: the `time` of a step of all workers together, the processor
    time (`cpu`) of all processes by step, or `Rss` or `Pss` of the parameter server in bytes."""
    tf = tensorflow()
    cluster = Cluster(int(workers))
    step = worker_step(tf, 0, cluster.json)
    cluster.answers()  # they are ready

    def all_workers(steps):
        cluster.each_other(f"go {steps}")
        for _ in range(steps):
            step()
        cluster.answers()

    def measure(steps):
        if what == "cpu":
            used = sum(map(cpu_ns, cluster.pids()))
            all_workers(steps)
            return (sum(map(cpu_ns, cluster.pids())) - used) / (steps * cluster.workers)
        start = time.perf_counter_ns()
        all_workers(steps)
        took = time.perf_counter_ns() - start
        return took / (steps * cluster.workers) if what == "time" else memory(cluster.others[0].pid, what)

    measure.cluster = cluster
    return measure


def null():
    """A step of a worker that receives a scalar from a parameter server."""
    tf = tensorflow()
    cluster = Cluster()
    server = tf.train.Server(json.loads(cluster.json), "worker", 0)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.device("/job:worker/task:0"):
        received = tf.identity(v).op
    s = tf.Session(server.target)
    s.run(tf.global_variables_initializer())
    measure = timed(lambda: s.run(received))
    measure.cluster = cluster
    return measure


MEASURES = {
    "import": import_,
    "fetch": fetch,
    "feed": feed,
    "build": build,
    "graph": graph,
    "mnist": mnist,
    "cnn": cnn,
    "lstm": lstm,
    "resnet": resnet,
    "wide_deep": wide_deep,
    "input": input_,
    "task": task,
    "ps": ps,
    "null": null,
}

if __name__ == "__main__":
    measure = MEASURES[sys.argv[1]](*sys.argv[2:])
    serve(measure)
    if hasattr(measure, "cluster"):
        for process in measure.cluster.others:
            process.kill()
            process.wait()
    os._exit(0)  # nothing is left to be done, and servers would wait for others
