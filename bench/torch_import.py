# What it takes PyTorch to be there: the time is the driver's, from the start of the process to the answer.
import sys

import torch

sys.stdin.readline()
print(torch.get_num_threads(), flush=True)
