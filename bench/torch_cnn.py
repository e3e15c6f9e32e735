# The deep MNIST convolutional network in PyTorch, with Adam: `torch_cnn.py nchw|channels_last`.
import sys

import torch
import torch_bench as bench

BATCH = 50
bench.start()
model = torch.nn.Sequential(
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
images, labels = torch.rand(BATCH, 1, 28, 28), torch.arange(BATCH) % 10
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
