# The MNIST network in PyTorch, as a peer to measure against: `torch_mnist.py sgd|adam`.
import sys

import torch_bench as bench

bench.start()
variables = bench.mnist_variables()
images, labels = bench.mnist_batch()
optimizer = bench.OPTIMIZERS[sys.argv[1]](variables, lr=0.01)


def run(steps):
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        bench.mnist_loss(variables, images, labels).backward()
        optimizer.step()


bench.serve(run)
