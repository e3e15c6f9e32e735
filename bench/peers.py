"""The Pythons of the programs that Braid is measured and tested beside.

    peers.py tensorflow|torch

prints the path of a Python that has TensorFlow (build/peers) or PyTorch (build/torch). Each is a virtual
environment that is made, and filled by pip, when it is first asked for. The exit code is 1 where that is not
possible."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = "/usr/bin/python3"  # Debian's

# For each: the folder, the modules that must be there, and what pip is asked for, one try after another. The
# last TensorFlow that has estimators, or, for a Python that it does not know, the newest one. PyTorch without
# CUDA, from its own index, or, where that cannot be reached, what the default index has.
PEERS = {
    "tensorflow": (
        "peers",
        ("tensorflow", "tensorboard"),
        (("tensorflow-cpu<2.16", "tensorboard"), ("tensorflow-cpu", "tensorboard")),
    ),
    "torch": (
        "torch",
        ("torch", "numpy"),
        (
            ("torch==2.13.0", "numpy", "--index-url", "https://download.pytorch.org/whl/cpu"),
            ("torch==2.13.0", "numpy"),
        ),
    ),
}


def has(python, modules):
    code = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {modules!r})))"
    return os.path.exists(python) and subprocess.run([python, "-c", code]).returncode == 0


def find(name, log=subprocess.DEVNULL):
    """The path of a Python that has the peer, or None. PyTorch may be Debian's. What pip says goes to `log`."""
    folder, modules, tries = PEERS[name]
    folder = os.path.join(ROOT, "build", folder)
    python = os.path.join(folder, "bin", "python")
    if has(python, modules):
        return python
    said = {"stdout": log, "stderr": log}
    if not os.path.exists(python) and subprocess.run([PYTHON, "-m", "venv", folder], **said).returncode:
        return None
    for wanted in tries:
        if subprocess.run([python, "-m", "pip", "install", "-q", *wanted], **said).returncode == 0:
            return python
    return PYTHON if name == "torch" and has(PYTHON, modules) else None


if __name__ == "__main__":
    found = find(sys.argv[1], log=sys.stderr)
    if not found:
        sys.exit(f"{sys.argv[1]} can be installed in no way")
    print(found)
