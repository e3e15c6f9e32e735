# An asynchronous parameter server over PyTorch's RPC for the MNIST network with Adam: `torch_rpc.py WORKERS
# shm|tcp`.
#
# A worker's step is one call: it sends its gradients, the server updates the variables and answers with them.
# The workers do their steps at the same time; the answer is the time of a step of all of them together.
# `torch_rpc.py RANK WORLD FILE shm|tcp` is one of the other processes: rank 0 is the server.
import os
import subprocess
import sys
import tempfile
import threading

import torch
import torch.distributed.rpc as rpc
import torch_bench as bench


# ---- The server ----
variables, optimizer, lock = None, None, threading.Lock()


def push_pull(gradients):
    global variables, optimizer
    torch.set_flush_denormal(True)  # each thread of the server has its own setting
    with lock:
        if variables is None:
            variables = bench.mnist_variables()
            optimizer = bench.OPTIMIZERS["adam"](variables, lr=0.01)
        if gradients:
            for v, g in zip(variables, gradients):
                v.grad = g
            optimizer.step()
        return [v.detach() for v in variables]


# ---- A worker ----
class Worker:
    def __init__(self):
        self.images, self.labels = bench.mnist_batch()
        self.variables = self.call([])

    def call(self, gradients):
        return [v.requires_grad_() for v in rpc.rpc_sync("task0", push_pull, args=(gradients,))]

    def run(self, steps):
        for _ in range(steps):
            bench.mnist_loss(self.variables, self.images, self.labels).backward()
            self.variables = self.call([v.grad for v in self.variables])


worker = None


def run_here(steps):
    global worker
    if worker is None:
        worker = Worker()
    worker.run(steps)


# ---- Processes ----
# What TensorPipe may use: by itself it takes shared memory, whose threads poll without a pause; `tcp` has it
# wait.
TRANSPORTS = {"shm": {}, "tcp": {"_transports": ["uv"], "_channels": ["basic"]}}


def join(rank, world, file, transport):
    bench.start()
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"file://{file}", num_worker_threads=4, **TRANSPORTS[transport]
    )
    rpc.init_rpc(f"task{rank}", rank=rank, world_size=world, rpc_backend_options=options)


def chief(workers, transport):
    file = tempfile.mktemp(prefix="torch_rpc")
    world = workers + 1
    others = [
        subprocess.Popen(
            [sys.executable, __file__, str(r), str(world), file, transport], stdin=subprocess.DEVNULL
        )
        for r in range(world)
        if r != 1
    ]
    join(1, world, file, transport)

    def run(steps):
        waiting = [rpc.rpc_async(f"task{r}", run_here, args=(steps,), timeout=0) for r in range(2, world)]
        run_here(steps)
        for w in waiting:
            w.wait()

    bench.serve(run, units=workers)
    rpc.shutdown()
    for p in others:
        p.wait()
    if os.path.exists(file):
        os.remove(file)


if len(sys.argv) == 3:
    chief(int(sys.argv[1]), sys.argv[2])
else:
    join(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
    rpc.shutdown()
