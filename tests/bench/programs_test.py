# Each benchmark program of the table answers, and ends with its input.
# labels: slow
# timeout: 300
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from table import ROWS  # noqa: E402

BIN = sys.argv[1]
MOST_BYTES = 10_000_000  # more takes long under a sanitizer and runs the same code


def shortened(command):
    words = command.split()
    if words[-1].isdigit():
        words[-1] = str(min(int(words[-1]), MOST_BYTES))
    return words


def answers_of(words):
    """What the program prints to stdout and stderr. One that hangs is ended with all that it started."""
    program = subprocess.Popen(
        [os.path.join(BIN, words[0]), *words[1:]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        return program.communicate("go 1\ngo 2\n", timeout=100)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        out, err = program.communicate()
        raise AssertionError(f"{words} has not ended in 100 s: {out!r}, {err}") from None


commands = sorted({tuple(shortened(c)) for row in ROWS for c in row.programs.values()})
tried = 0
for words in commands:
    # Peers are not Braid's: PyTorch, TensorFlow, ps-lite, and Open MPI where there is none. Programs that
    # both front ends run take gigabytes and minutes.
    is_missing = words[0].startswith("mpi_") and not os.path.exists(os.path.join(BIN, words[0]))
    if words[0] in ("started", "braid", "tensorflow", "ps_lite") or words[0].endswith(".py") or is_missing:
        continue
    out, err = answers_of(words)
    answers = [float(a) for a in out.split()]
    can_be_negative = any("loss" in w for w in words)  # the difference of two times
    assert len(answers) == 2 and (can_be_negative or min(answers) > 0), f"{words}: {out!r}, {err}"
    tried += 1
assert tried > 8, commands
