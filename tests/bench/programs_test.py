# Each benchmark program of the table answers, and ends with its input.
# timeout: 300
import os
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


commands = sorted({tuple(shortened(c)) for row in ROWS for c in row.programs.values()})
tried = 0
for words in commands:
    if words[0] == "started" or words[0].endswith(".py"):
        continue
    done = subprocess.run(
        [os.path.join(BIN, words[0]), *words[1:]],
        input="go 1\ngo 2\n",
        text=True,
        capture_output=True,
        timeout=100,
    )
    answers = [float(a) for a in done.stdout.split()]
    can_be_negative = any("loss" in w for w in words)  # the difference of two times
    assert len(answers) == 2 and (
        can_be_negative or min(answers) > 0
    ), f"{words}: {done.stdout!r}, {done.stderr}"
    tried += 1
assert tried > 8, commands
