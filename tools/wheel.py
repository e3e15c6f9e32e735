"""wheel.py INSTALLED VERSION OUT: packs the Python package into a wheel for this machine's libraries.

INSTALLED has lib/python3/dist-packages, as `cmake --install --component python` makes it, and bin/braid. The
wheel lacks the libraries that these need: auditwheel adds them (`./dev wheel`). The licences of Debian's
packages that hold them come with it. The same files give the same bytes where SOURCE_DATE_EPOCH is set.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time
import zipfile

NAME = "braid"
TAG = "cp39-abi3-linux_x86_64"
PROJECT = pathlib.Path(__file__).resolve().parents[1]

METADATA = """\
Metadata-Version: 2.1
Name: braid
Version: {version}
Summary: Distributed TensorFlow 1, implemented anew in C: its Python interface, servers and launcher
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.24
Requires-Dist: protobuf>=4,<7
Description-Content-Type: text/markdown

Programs written for TensorFlow 1 run on Braid as they are:

    python3 -m braid train.py

The command `braid` runs and serves clusters (`braid --help`).
"""

WHEEL = f"""\
Wheel-Version: 1.0
Generator: braid
Root-Is-Purelib: false
Tag: {TAG}
"""

# The command `braid`: it lies in the package, where auditwheel finds it. The package is not imported.
COMMAND = """\
#!python
import importlib.util
import os
import sys

(package,) = importlib.util.find_spec("braid").submodule_search_locations
program = os.path.join(package, "bin", "braid")
os.environ.setdefault("BRAID_PYTHON", sys.executable)  # braid run NAME.py
os.execv(program, [program, *sys.argv[1:]])
"""


def libraries(file):
    """The paths of the shared libraries that a file needs, of the system."""
    text = subprocess.run(["ldd", file], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r" => (/\S+)", text)


# Packages whose libraries are linked statically (cmake/BraidLibraries.cmake).
STATIC_PACKAGES = {"liblapack-dev"}


def licences(files):
    """By Debian package that holds a library: its copyright file."""
    paths = {path for file in files for path in libraries(file)}
    names = sorted(paths | {os.path.realpath(path) for path in paths})
    answer = subprocess.run(["dpkg-query", "--search", *names], capture_output=True, text=True).stdout
    packages = STATIC_PACKAGES.union(re.findall(r"^([^:,\s]+)", answer, re.MULTILINE))
    return {p: pathlib.Path("/usr/share/doc", p, "copyright").read_bytes() for p in packages}


class Archive:
    """A wheel. Each file gets its line in RECORD."""

    def __init__(self, path, info):
        date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315619200))
        self.zip, self.info, self.date, self.record = zipfile.ZipFile(path, "w"), info, date[:6], []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, self.date)
        entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}\n")

    def add_info(self, name, content):
        self.add(f"{self.info}/{name}", content if isinstance(content, bytes) else content.encode())

    def close(self):
        self.record.append(f"{self.info}/RECORD,,\n")
        self.add_info("RECORD", "".join(self.record))
        self.zip.close()


def main(installed, version, out):
    installed, out = pathlib.Path(installed), pathlib.Path(out)
    packages = installed / "lib/python3/dist-packages"
    info = f"{NAME}-{version}.dist-info"
    archive = Archive(out / f"{NAME}-{version}-{TAG}.whl", info)
    for file in sorted(packages.rglob("*")):
        if file.is_file():
            archive.add(str(file.relative_to(packages)), file.read_bytes())
    program = installed / "bin/braid"
    archive.add("braid/bin/braid", program.read_bytes(), 0o755)
    archive.add(f"{NAME}-{version}.data/scripts/braid", COMMAND.encode(), 0o755)
    archive.add_info("METADATA", METADATA.format(version=version))
    archive.add_info("WHEEL", WHEEL)
    archive.add_info("licenses/LICENSE", (PROJECT / "LICENSE").read_bytes())
    for package, text in sorted(licences([program, packages / "braid/_native.abi3.so"]).items()):
        archive.add_info(f"licenses/{package}", text)
    archive.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
