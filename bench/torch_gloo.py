# all_reduce of PyTorch over gloo as a peer: `torch_gloo.py TASKS BYTES`. Rank 0 answers; the others are
# started as `torch_gloo.py TASKS BYTES FILE RANK`.
import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
import torch_bench as bench

tasks, size = int(sys.argv[1]), int(sys.argv[2])


def join(file, rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=tasks)


# Rank 0 tells the others how many steps come next; 0: none.
def announce(steps):
    count = torch.tensor([steps])
    dist.broadcast(count, 0)
    return int(count)


tensor = torch.zeros(size // 4)


def reduce(steps):
    for _ in range(steps):
        dist.all_reduce(tensor)


def run_here(steps):
    announce(steps)
    reduce(steps)


if len(sys.argv) == 5:
    join(sys.argv[3], int(sys.argv[4]))
    while steps := announce(0):
        reduce(steps)
else:
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "meeting")
        others = [
            subprocess.Popen([sys.executable, *sys.argv, file, str(rank)], stdin=subprocess.DEVNULL)
            for rank in range(1, tasks)
        ]
        join(file, 0)
        bench.serve(run_here)
        announce(0)
        for other in others:
            other.wait()
