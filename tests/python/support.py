# The package as it was built, for the tests beside this file: NAME_test.py DIRECTORY_OF_THE_PROGRAMS.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv.pop(1)).parent / "python"))
sys.path.append(str(Path(__file__).resolve().parent.parent))  # free_ports
try:
    import google.protobuf
    import numpy

    from braid import _native
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-dev, python3-numpy, python3-protobuf)")
    sys.exit(77)
