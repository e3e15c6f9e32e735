# The deep MNIST convolutional network in PyTorch, with Adam: `torch_cnn.py nchw|channels_last`.
import sys

import torch
import torch_bench as bench

bench.start()
model = bench.cnn_model()
images, labels = bench.cnn_batch()
if sys.argv[1] == "channels_last":
    model = model.to(memory_format=torch.channels_last)
    images = images.to(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
cross_entropy = torch.nn.CrossEntropyLoss()


def run(steps):
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        cross_entropy(model(images), labels).backward()
        optimizer.step()


bench.serve(run)
