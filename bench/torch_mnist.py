# The MNIST network in PyTorch, as a peer to measure against: reads "go STEPS" lines, answers nanoseconds per step.
import sys
import time

import torch

OPTIMIZER, BATCH, HIDDEN = sys.argv[1], 100, 100
torch.set_num_threads(1)
torch.manual_seed(1)
hid_w = (torch.randn(784, HIDDEN) / 28).requires_grad_()
hid_b = torch.zeros(HIDDEN, requires_grad=True)
sm_w = (torch.randn(HIDDEN, 10) / HIDDEN**0.5).requires_grad_()
sm_b = torch.zeros(10, requires_grad=True)
variables = [hid_w, hid_b, sm_w, sm_b]
optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[OPTIMIZER](variables, lr=0.01)
images = torch.rand(BATCH, 784)
labels = torch.nn.functional.one_hot(torch.arange(BATCH) % 10, 10).float()


def step():
    optimizer.zero_grad(set_to_none=True)
    hidden = torch.relu(torch.addmm(hid_b, images, hid_w))
    y = torch.softmax(torch.addmm(sm_b, hidden, sm_w), 1)
    loss = -(labels * torch.log(torch.clamp(y, 1e-10, 1.0))).sum()
    loss.backward()
    optimizer.step()


for line in sys.stdin:
    steps = int(line.split()[1])
    begin = time.perf_counter_ns()
    for _ in range(steps):
        step()
    print((time.perf_counter_ns() - begin) / steps, flush=True)
