# What the benchmarks in PyTorch share: the MNIST networks, and the loop that answers "go STEPS" with
# nanoseconds per step.
import sys
import time

import torch

BATCH, HIDDEN = 100, 100
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}


def start():
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # several times faster once the network has learned its batch
    torch.manual_seed(1)


def mnist_variables():
    return [
        (torch.randn(784, HIDDEN) / 28).requires_grad_(),
        torch.zeros(HIDDEN, requires_grad=True),
        (torch.randn(HIDDEN, 10) / HIDDEN**0.5).requires_grad_(),
        torch.zeros(10, requires_grad=True),
    ]


def mnist_batch():
    return torch.rand(BATCH, 784), torch.nn.functional.one_hot(torch.arange(BATCH) % 10, 10).float()


def mnist_loss(variables, images, labels):
    hid_w, hid_b, sm_w, sm_b = variables
    hidden = torch.relu(torch.addmm(hid_b, images, hid_w))
    y = torch.softmax(torch.addmm(sm_b, hidden, sm_w), 1)
    return -(labels * torch.log(torch.clamp(y, 1e-10, 1.0))).sum()


def cnn_model():
    """The deep MNIST convolutional network."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 32, 5, padding=2),
        torch.nn.ReLU(inplace=True),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 5, padding=2),
        torch.nn.ReLU(inplace=True),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(7 * 7 * 64, 1024),
        torch.nn.ReLU(inplace=True),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(1024, 10),
    )


def cnn_batch():
    return torch.rand(50, 1, 28, 28), torch.arange(50) % 10


# `run(steps)` does them; `units` steps count for each.
def serve(run, units=1):
    for line in sys.stdin:
        steps = int(line.split()[1])
        begin = time.perf_counter_ns()
        run(steps)
        print((time.perf_counter_ns() - begin) / (steps * units), flush=True)
