# TensorFlow's messages: compiled by protoc from src/proto when a test starts, and imported.
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77  # what CTest takes for "skipped"
SOURCES = Path(__file__).resolve().parents[2] / "src" / "proto"


def skip_all(why):
    """Ends the test program: something that it needs from outside is not here."""
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


try:
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # servers are started with exec at once
    import google.protobuf
    import grpc
except ImportError as missing:
    skip_all(f"{missing} (Debian: python3-grpcio, python3-protobuf)")


def compile_all():
    out = Path(tempfile.mkdtemp(prefix="braid-protos-"))
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    sources = sorted(str(p.relative_to(SOURCES)) for p in SOURCES.glob("tensorflow/**/*.proto"))
    subprocess.run(["protoc", f"--python_out={out}", "-I", "."] + sources, cwd=SOURCES, check=True)
    for folder, _, _ in os.walk(out / "tensorflow"):  # real packages go before an installed TensorFlow
        (Path(folder) / "__init__.py").touch()
    sys.path.insert(0, str(out))


compile_all()
from tensorflow.core.framework import (
    attr_value_pb2,
    device_attributes_pb2,
    graph_pb2,
    node_def_pb2,
    summary_pb2,
    tensor_pb2,
    tensor_shape_pb2,
    types_pb2,
)
from tensorflow.core.protobuf import (
    cluster_pb2,
    config_pb2,
    debug_pb2,
    master_pb2,
    named_tensor_pb2,
    rewriter_config_pb2,
    tensorflow_server_pb2,
    worker_pb2,
)
