"""The programs that Braid is measured and tested beside.

    peers.py tensorflow|torch|ps_lite

prints the path of a Python that has TensorFlow (build/peers) or PyTorch (build/torch), or of the benchmark
program of ps-lite (build/ps_lite). Each is made when it is first asked for: a virtual environment that pip
fills; or the sources of one revision, which git fetches (the variable BRAID_PS_LITE names another place to
fetch them from) and g++ compiles. The exit code is 1 where that is not possible."""

import glob
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

PS_LITE = "https://github.com/dmlc/ps-lite", "15b8adf17e9871ff6112c80e4b290fa38c2b4656"


def has(python, modules):
    code = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {modules!r})))"
    return os.path.exists(python) and subprocess.run([python, "-c", code]).returncode == 0


def find_python(name, log):
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


def does(command, log):
    """Whether the command is there and succeeds."""
    try:
        return subprocess.run(command, stdout=log, stderr=log).returncode == 0
    except FileNotFoundError:
        return False


def fetch(source, revision, folder, log):
    """Whether `folder` has the sources."""
    os.makedirs(folder, exist_ok=True)
    git = ["git", "-C", folder]
    if not does([*git, "init", "-q"], log):
        return False
    if not does([*git, "cat-file", "-e", revision], subprocess.DEVNULL):
        does([*git, "fetch", "-q", "--depth", "1", source, revision], log)
    return does([*git, "checkout", "-q", revision], log)


# ps-lite is compiled with the optimization of its own Makefile, and with Debian's ZeroMQ and protobuf.
def find_ps_lite(log):
    folder = os.path.join(ROOT, "build", "ps_lite")
    program = os.path.join(folder, "ps_lite_bench")
    own = os.path.join(ROOT, "bench", "ps_lite", "ps_lite_bench.cc")
    parts = own, os.path.join(ROOT, "bench", "bench.h"), os.path.abspath(__file__)
    if os.path.exists(program) and os.path.getmtime(program) > max(map(os.path.getmtime, parts)):
        return program
    source, revision = PS_LITE
    sources = os.path.join(folder, "sources")
    if not fetch(os.environ.get("BRAID_PS_LITE", source), revision, sources, log):
        return None
    src, include = os.path.join(sources, "src"), os.path.join(sources, "include")
    proto = ["protoc", f"--cpp_out={src}", f"--proto_path={src}", os.path.join(src, "meta.proto")]
    if not does(proto, log):
        return None
    files = [own, *sorted(glob.glob(os.path.join(src, "*.cc")))]
    options = ["-std=c++14", "-O3", "-w", f"-I{include}", f"-I{src}", "-pthread"]
    compiler = ["g++", *options, "-o", program, *files, "-lzmq", "-lprotobuf"]
    return program if does(compiler, log) else None


def find(name, log=subprocess.DEVNULL):
    """The path of the peer, or None. PyTorch may be Debian's. What the commands that make it say goes to
    `log`."""
    return find_ps_lite(log) if name == "ps_lite" else find_python(name, log)


if __name__ == "__main__":
    found = find(sys.argv[1], log=sys.stderr)
    if not found:
        sys.exit(f"{sys.argv[1]} can be installed in no way")
    print(found)
