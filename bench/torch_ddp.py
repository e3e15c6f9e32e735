# A synchronous step of two workers by PyTorch's DistributedDataParallel over gloo: `torch_ddp.py mnist|cnn`.
# Rank 0 answers; the other is started as `torch_ddp.py mnist|cnn FILE`. `torch_ddp.py mnist|cnn alone` is the
# step of one worker, without DistributedDataParallel.
import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
import torch_bench as bench

network, how = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""


class Mnist(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.variables = torch.nn.ParameterList(v.detach() for v in bench.mnist_variables())

    def forward(self, images, labels):
        return bench.mnist_loss(self.variables, images, labels)


class Cnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model, self.loss = bench.cnn_model(), torch.nn.CrossEntropyLoss()

    def forward(self, images, labels):
        return self.loss(self.model(images), labels)


def step_of(model, batch):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def run(steps):
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            model(*batch).backward()
            optimizer.step()

    return run


def main():
    bench.start()
    model, batch = (Mnist(), bench.mnist_batch()) if network == "mnist" else (Cnn(), bench.cnn_batch())
    if how == "alone":
        bench.serve(step_of(model, batch))
        return

    def announce(steps):  # rank 0 tells the other how many steps come next; 0: none
        count = torch.tensor([steps])
        dist.broadcast(count, 0)
        return int(count)

    def join(file, rank):
        dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
        return step_of(torch.nn.parallel.DistributedDataParallel(model), batch)

    if how:
        run = join(how, 1)
        while steps := announce(0):
            run(steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "meeting")
        other = subprocess.Popen([sys.executable, __file__, network, file], stdin=subprocess.DEVNULL)
        run = join(file, 0)
        bench.serve(lambda steps: (announce(steps), run(steps)))
        announce(0)
        other.wait()


main()
