# The table of benchmarks: for each row its programs, its formula and its target.
#
# The programs answer "go STEPS" with nanoseconds per step. The formula gets the answers of all rounds, a list
# for each program, and returns a list with one number for each round; the row's figure is their median.
import statistics
from collections import namedtuple

# at_most: whether the target is an upper or a lower limit. columns: the programs whose own times are printed.
Row = namedtuple("Row", "key what target at_most programs formula columns unit scale")

MB = 1_000_000


def ratio(a, b):
    return lambda m: [x / y for x, y in zip(m[a], m[b])]


# Returns a function that names the fastest of several forms of the peer in this run.
def faster(names):
    return lambda m: min(names, key=lambda n: statistics.median(m[n]))


def of_faster(ours, peers):
    return lambda m: ratio(ours, faster(peers)(m))(m)


def added(ours, ours_alone, peers, peer_alone):
    # The difference of two times of one round is mostly noise. So only the time of `ours` is the round's; the
    # other times are medians.
    def formula(m):
        b, c, d = (statistics.median(m[n]) for n in (ours_alone, faster(peers)(m), peer_alone))
        # A negative difference means that other programs use the machine: two processes then get more of it
        # than one.
        if statistics.median(m[ours]) <= b or c <= d:
            return [float("nan")]
        return [(x - b) / (c - d) for x in m[ours]]

    return formula


# As `added`, in round trips of a futex between two processes: a step makes so many calls, one after another.
def added_trips(calls):
    def formula(m):
        alone, futex = statistics.median(m["alone"]), statistics.median(m["futex"])
        return [(x - alone) / (calls * futex) for x in m["ours"]]

    return formula


# A synchronous step of two processes that train alone otherwise, and of PyTorch's DistributedDataParallel.
def synchronous(network, what):
    return Row(
        f"sync_{network}",
        f"what a synchronous step of two workers adds, {what}, of DDP's (gloo)",
        0.3,
        True,
        {
            "ours": f"collective_bench 2 {network}",
            "alone": "mnist_bench adam" if network == "mnist" else "cnn_bench",
            "peer": f"torch_ddp.py {network}",
            "peer_alone": f"torch_ddp.py {network} alone",
        },
        added("ours", "alone", ("peer",), "peer_alone"),
        ("ours", "peer"),
        "ms/step",
        1e6,
    )


def ours_and_peer(key, what, target, ours, peer, unit, scale, at_most=True):
    if at_most:
        formula = ratio("ours", "peer")
    else:
        formula = ratio("peer", "ours")
    return Row(
        key, what, target, at_most, {"ours": ours, "peer": peer}, formula, ("ours", "peer"), unit, scale
    )


# PyTorch's RPC: shared memory is faster on an idle machine, TCP on a busy one.
RPC = ("shm", "tcp")


def rpc(workers):
    return {transport: f"torch_rpc.py {workers} {transport}" for transport in RPC}


def bandwidth(key, what, size):
    return ours_and_peer(
        key, what, 0.6, f"recv_bench {size}", f"socket_bench {size}", "ms", 1e6, at_most=False
    )


# RecvTensor beside memcpy: a tensor from another process takes at least one copy.
def of_copy(key, name, size):
    what = f"RecvTensor of {name} on one host, rate, of memcpy's"
    return ours_and_peer(
        key, what, 0.7, f"recv_bench {size}", f"limit_bench memcpy {size}", "ms", 1e6, at_most=False
    )


# A push and a pull of a tensor, each waited for, of ps-lite's rate.
def of_ps_lite(key, name, size):
    what = f"push and pull of {name} on one host, rate, of ps-lite's"
    return ours_and_peer(key, what, 5, f"ps_bench {size}", f"ps_lite {size}", "ms", 1e6, at_most=False)


# A sum over processes of one host, of Open MPI's and of gloo's rate.
def all_reduce(tasks, name, size):
    ours, what = f"collective_bench {tasks} {size}", f"all-reduce of {name}, {tasks} processes, rate of"
    return [
        ours_and_peer(
            f"reduce_{name}_{tasks}".replace(" ", "").lower(),
            f"{what} Open MPI's",
            1,
            ours,
            f"mpi_all_reduce {tasks} {size}",
            "ms",
            1e6,
            at_most=False,
        ),
        ours_and_peer(
            f"gloo_{name}_{tasks}".replace(" ", "").lower(),
            f"{what} gloo's",
            1,
            ours,
            f"torch_gloo.py {tasks} {size}",
            "ms",
            1e6,
            at_most=False,
        ),
    ]


# Braid's front end and TensorFlow 2 (tf.compat.v1): the same program (front_end.py) for both.
def of_tensorflow(key, what, target, program, unit="ms", scale=1e6, at_most=True):
    what = f"{what}, of TensorFlow's"
    return ours_and_peer(key, what, target, f"braid {program}", f"tensorflow {program}", unit, scale, at_most)


def on_threads(key, what, target):
    return [
        of_tensorflow(f"tf_{key}_{n}", f"{what}, {n} thread{'s' * (n > 1)}", target, f"{key} {n}")
        for n in (1, 2)
    ]


MS, US = 1e6, 1e3

# fmt: off
ROWS = [
    ours_and_peer("mlp_sgd", "MNIST network, SGD, of PyTorch's time", 0.60, "mnist_bench sgd", "torch_mnist.py sgd",
                  "ms/step", MS),
    ours_and_peer("mlp_adam", "MNIST network, Adam, of PyTorch's time", 0.45, "mnist_bench adam", "torch_mnist.py adam",
                  "ms/step", MS),
    Row("cnn", "deep MNIST network, Adam, of PyTorch's faster layout", 0.85, True,
        {"ours": "cnn_bench", "nchw": "torch_cnn.py nchw", "channels_last": "torch_cnn.py channels_last"},
        of_faster("ours", ("nchw", "channels_last")), ("ours", faster(("nchw", "channels_last"))), "ms/step", MS),
    ours_and_peer("sgd_products", "MNIST network, SGD, of its matrix products alone", 1.25, "mnist_bench sgd",
                  "products_bench mnist", "ms/step", MS),
    ours_and_peer("cnn_products", "deep MNIST network, Adam, of its products and convolutions alone", 1.15, "cnn_bench",
                  "products_bench cnn", "ms/step", MS),
    Row("rows", "a step that looks up 1,024 of a million rows, of the same by the whole gradient", 0.02, True,
        {"ours": "embedding_bench rows", "whole": "embedding_bench whole"}, ratio("ours", "whole"), ("ours", "whole"),
        "ms/step", MS),
    ours_and_peer("rows_large", "updates of 1,000 rows of a table of 1.6 GB on a parameter server, of those in one of 10 MB",
                  1.2, "rows_bench 1600", "rows_bench 10", "ms/step", MS),
    Row("chain", "a node of a chain of 10,000 (peer: malloc + free)", 300, True,
        {"ours": "nodes_bench chain", "peer": "malloc_bench"}, lambda m: m["ours"], ("ours", "peer"), "ns", 1),
    Row("grid", "a node of a 100 x 100 grid (peer: malloc + free)", 300, True,
        {"ours": "nodes_bench grid", "peer": "malloc_bench"}, lambda m: m["ours"], ("ours", "peer"), "ns", 1),
    Row("added", "what a parameter server adds to a step, of PyTorch RPC", 0.5, True,
        {"ours": "mnist_bench adam cluster", "alone": "mnist_bench adam", **rpc(1),
         "peer_alone": "torch_mnist.py adam"},
        added("ours", "alone", RPC, "peer_alone"), ("ours", faster(RPC)), "ms/step", MS),
    Row("added_futex", "the same, of as many futex round trips as a step makes calls (4)", 3, True,
        {"ours": "mnist_bench adam cluster", "alone": "mnist_bench adam", "futex": "limit_bench futex"},
        added_trips(4), ("ours", "alone"), "ms/step", MS),
    ours_and_peer("ps_replicas", "a step whose parameter server has two copies, of one with one over gRPC", 2.0,
                  "mnist_bench adam copied", "mnist_bench adam grpc", "ms/step", MS),
    ours_and_peer("null", "a step that receives a scalar, of a raw gRPC round trip", 2.0, "recv_bench 4", "grpc_bench", "us",
                  US),
    ours_and_peer("null_futex", "a step that receives a scalar on one host, of a futex round trip", 3.0, "recv_bench 4",
                  "limit_bench futex", "us", US),
    ours_and_peer("null_cert", "a step that receives a scalar on one host with certificates, of one without", 1.3,
                  "recv_bench certificates 4", "recv_bench 4", "us", US),
    ours_and_peer("recv_cert", "RecvTensor of 32 MB on one host with certificates, time, of that without", 1.3,
                  f"recv_bench certificates {32 * MB}", f"recv_bench {32 * MB}", "ms", MS),
    ours_and_peer("null_tls", "a step that receives a scalar over TLS, of one over gRPC without", 2.0,
                  "recv_bench tls 4", "recv_bench grpc 4", "us", US),
    ours_and_peer("recv_32m_tls", "RecvTensor of 32 MB over TLS, time, of that without", 4.0, f"recv_bench tls {32 * MB}",
                  f"recv_bench grpc {32 * MB}", "ms", MS),
    ours_and_peer("added_tls", "a step of a cluster over TLS, of one without", 2.0, "mnist_bench adam tls",
                  "mnist_bench adam grpc", "ms/step", MS),
    bandwidth("recv_4m", "RecvTensor of 4 MB, bandwidth of a raw TCP socket's", 4 * MB),
    bandwidth("recv_32m", "RecvTensor of 32 MB, of a raw TCP socket's", 32 * MB),
    bandwidth("recv_128m", "RecvTensor of 128 MB, of a raw TCP socket's", 128 * MB),
    bandwidth("recv_1g", "RecvTensor of 1 GB, of a raw TCP socket's", 1024 * MB),
    of_copy("copy_400k", "400 KB", 400_000),
    of_copy("copy_4m", "4 MB", 4 * MB),
    of_copy("copy_32m", "32 MB", 32 * MB),
    of_copy("copy_128m", "128 MB", 128 * MB),
    of_copy("copy_1g", "1 GB", 1024 * MB),
    of_ps_lite("ps_400k", "400 KB", 400_000),
    of_ps_lite("ps_4m", "4 MB", 4 * MB),
    of_ps_lite("ps_64m", "64 MB", 64 * MB),
    Row("recv_flat", "RecvTensor: bandwidth of 1 GB, of that of 128 MB", 0.9, False,
        {"ours": f"recv_bench {1024 * MB}", "128 MB": f"recv_bench {128 * MB}"},
        lambda m: [8 * b / a for a, b in zip(m["ours"], m["128 MB"])], ("ours", "128 MB"), "ms", MS),
    Row("two_workers", "steps of two workers in all, of PyTorch RPC", 3, False, {"ours": "mnist_bench adam workers 2 1", **rpc(2)},
        lambda m: ratio(faster(RPC)(m), "ours")(m), ("ours", faster(RPC)), "ms/step", MS),
    ours_and_peer("two_alone", "steps of two workers in all, of one worker's alone in one process", 1.6,
                  "mnist_bench adam workers 2 1", "mnist_bench adam", "ms/step", MS, at_most=False),
    synchronous("mnist", "MNIST network"),
    synchronous("cnn", "deep MNIST network"),
    *(row for size in ((64 << 10, "64 KB"), (1 << 20, "1 MB"), (8 << 20, "8 MB"), (64 << 20, "64 MB"))
      for tasks in (2, 4) for row in all_reduce(tasks, size[1], size[0])),
    Row("start", "start of a process to its first step, of `import torch`", 0.1, True,
        {"ours": "started mnist_bench sgd", "peer": "started torch_import.py"}, ratio("ours", "peer"), ("ours", "peer"), "ms",
        MS),
    ours_and_peer("save", "a checkpoint of 1 GB, rate, of write + fsync of the same bytes", 0.9,
                  f"save_bench save {1024 * MB}", f"save_bench write {1024 * MB}", "ms", MS, at_most=False),
    ours_and_peer("restore", "a restore of that checkpoint, rate, of read of the same bytes", 0.9,
                  f"save_bench restore {1024 * MB}", f"save_bench read {1024 * MB}", "ms", MS, at_most=False),
    ours_and_peer("save_pause", "time that training waits for that save to begin, of the save's time", 0.05,
                  f"save_bench pause {1024 * MB}", f"save_bench save {1024 * MB}", "ms", MS),
    Row("save_loss", "time that steps lose by that save beyond what they lose beside write + fsync, of the save's time", 0.5, True,
        {"ours": f"save_bench loss {1024 * MB}", "write": f"save_bench write_loss {1024 * MB}", "save": f"save_bench save {1024 * MB}"},
        lambda m: [(a - b) / c for a, b, c in zip(m["ours"], m["write"], m["save"])], ("ours", "write"), "ms", MS),
    Row("memory", "peak memory of a parameter server of the MNIST network", 40, True, {"ours": "mnist_bench adam memory"},
        lambda m: [x / 1e6 for x in m["ours"]], ("ours",), "MB", 1e6),
    ours_and_peer("tf_import", "start of a process that imports tensorflow", 0.2, "started braid import",
                  "started tensorflow import", "ms", MS),
    of_tensorflow("tf_fetch", "a scalar fetched", 0.2, "fetch", "us", US),
    of_tensorflow("tf_feed", "a scalar fed and fetched", 0.2, "feed", "us", US),
    of_tensorflow("tf_build", "a graph of 1,000 nodes built", 0.5, "build"),
    of_tensorflow("tf_graph_import", "a graph of 100,000 nodes imported", 0.2, "graph import 100000"),
    of_tensorflow("tf_graph_first", "its first run", 0.2, "graph first 100000"),
    of_tensorflow("tf_graph_next", "its next runs", 0.5, "graph next 100000"),
    *on_threads("mnist", "a step of the MNIST network", 0.9),
    *on_threads("cnn", "a step of the deep MNIST network", 0.9),
    *on_threads("lstm", "a step of a dynamic LSTM of 100 steps", 0.9),
    *on_threads("resnet", "a step of ResNet-20", 0.9),
    *on_threads("wide_deep", "a step of wide and deep with 10 M rows", 0.9),
    of_tensorflow("tf_input", "records read, shuffled, parsed, in batches: rate", 1.5, "input map", "us", US, False),
    of_tensorflow("tf_input_batch", "records parsed by batches: rate", 1.5, "input batch", "us", US, False),
    of_tensorflow("tf_null", "a step that receives a scalar from a parameter server", 0.1, "null", "us", US),
    Row("tf_added", "what a parameter server adds to a step, of TensorFlow's", 0.1, True,
        {"ours": "braid ps 1", "alone": "braid mnist 1", "peer": "tensorflow ps 1", "peer_alone": "tensorflow mnist 1"},
        added("ours", "alone", ("peer",), "peer_alone"), ("ours", "peer"), "ms/step", MS),
    of_tensorflow("tf_two_workers", "steps of two workers in all", 4, "ps 2", "ms/step", MS, False),
    of_tensorflow("tf_cpu", "processor time of two workers and a ps, by step", 0.5, "ps 2 cpu", "ms", MS),
    of_tensorflow("tf_rss", "RSS of that parameter server", 0.3, "ps 2 Rss", "MB", 1e6),
    of_tensorflow("tf_pss", "PSS of that parameter server", 0.3, "ps 2 Pss", "MB", 1e6),
]
# fmt: on


def against_baseline(rows, target):
    """Rows that compare each row's program "ours" with the same program of another build."""
    found = {}
    for r in rows:
        if r.programs["ours"] not in found:
            programs = {"ours": r.programs["ours"], "baseline": r.programs["ours"]}
            found[r.programs["ours"]] = r._replace(
                what=f"{r.programs['ours']}, of the baseline's time",
                target=target,
                at_most=True,
                programs=programs,
                formula=ratio("ours", "baseline"),
                columns=("ours", "baseline"),
            )
    return list(found.values())
