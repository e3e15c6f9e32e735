"""TensorFlow's own Python tests on Braid.

    run.py [--package DIR] [--test-ops FILE] [--timeout SECONDS] [--results DIR] SOURCE [PATTERN...]

SOURCE is a source tree of TensorFlow 1.15 or 2.0, or of TensorFlow's estimators 1.15 (the project
tensorflow/estimator), of which nothing is in this repository. PATTERN is a file below tensorflow/python or
tensorflow_estimator, or one of tensorflow/contrib (contrib/layers/*), with * for any characters; without one,
those of the parts that Braid has. Each file runs in a process of its own. A failure whose test, or whose
message, is in differences.txt has its reason there; a file that has one is left out. The exit code is 1 when
fewer than 95 % of the tests of the files that can be imported pass or when failures have no reason. Needs
absl-py (pip) in PYTHONPATH, and some files of contrib need portpicker.

The tests of graphs use ops of TensorFlow's test library: `ninja -C build/release tensorflow_test_ops` makes a
module of Python that has them, build/release/tests/tensorflow/_native.abi3.so (--test-ops).
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PARTS = (
    "client/*",
    "framework/*",
    "ops/*_test.py",
    "kernel_tests/*",
    "training/*_test.py",
    "data/kernel_tests/*",
    "layers/*",
    "saved_model/*",
    "summary/*",
    "util/*_test.py",
    "lib/*",
    "feature_column/*",
    "distribute/cluster_resolver/*",
    "platform/*",
    "tools/*",
    "estimator/*",
    "contrib/estimator/*",
)


class Differences:
    """differences.txt: lines "FILE[:TEST] | REASON" and "/REGULAR EXPRESSION OF THE MESSAGE/ | REASON"."""

    def __init__(self):
        self._tests, self._messages = {}, []
        for line in (HERE / "differences.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            what, _, reason = line.rpartition(" | ")
            if what.startswith("/"):
                self._messages.append((re.compile(what[1:-1], re.S), reason))
            else:
                self._tests[what] = reason

    def of_file(self, file):
        """Why none of a file is run, if there is a reason."""
        return self._tests.get(file)

    def reason(self, file, test, message):
        for name in (file, f"{file}:{test}", f"{file}:{test.partition('(')[0]}"):
            if name in self._tests:
                return self._tests[name]
        return next((reason for pattern, reason in self._messages if pattern.search(message)), None)


def run_file(path, args, scratch):
    """What became of the tests of a file, from the events that one_file.py writes."""
    out = scratch / "events.json"
    out.unlink(missing_ok=True)
    package = args.package and os.path.abspath(args.package)
    path_of_python = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path_of_python, "TEST_TMPDIR": str(scratch)}
    command = ["/usr/bin/python3", str(HERE / "one_file.py"), str(path), str(out)]
    if args.test_ops:
        command.append(os.path.abspath(args.test_ops))
    try:
        process = subprocess.run(
            command, cwd=scratch, env=env, capture_output=True, timeout=args.timeout, check=False
        )
        last_words = process.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        ended = f"crashed with exit code {process.returncode}: {last_words[:200]}"
    except subprocess.TimeoutExpired:
        ended = f"took more than {args.timeout:.0f} s"
    result = {"import_error": ended, "running": None, "tests": {}}
    for line in out.read_text().splitlines() if out.exists() else ():
        try:
            event, *values = json.loads(line)
        except ValueError:
            break  # the process ended while it wrote
        if event == "import_error":
            result["import_error"] = values[0]
        else:
            result["import_error"] = None
        if event == "start":
            result["running"] = values[0]
        elif event == "end" or (event == "test" and values[0] == result["running"]):
            result["running"] = None
        if event == "test" and result["tests"].get(values[0], [None])[0] != "failed":
            result["tests"][values[0]] = values[1:]  # an error of tearDown comes after the test's own
    if result["running"]:
        result["tests"][result["running"]] = ["failed", ended]
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", help="directory of the package, as build/release/python")
    parser.add_argument("--test-ops", help="braid._native with the ops of TensorFlow's test library")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--results", help="directory for a JSON file of each test file")
    parser.add_argument("source")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    source = pathlib.Path(args.source).resolve()
    patterns = args.patterns or PARTS
    files = {name: path for name, path in _test_files(source) if _matches(name, patterns)}
    if not files:
        sys.exit(f"{args.source} has no test files like {', '.join(patterns)}")
    differences, counts = Differences(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        # Tests read files of the tree by paths from its root.
        (pathlib.Path(scratch) / "tensorflow").symlink_to(source / "tensorflow")
        for name, path in files.items():
            if differences.of_file(name):
                counts["files left out"] += 1
                print(f"{name}: left out: {differences.of_file(name)}", flush=True)
                continue
            result = run_file(path, args, pathlib.Path(scratch))
            if args.results:
                kept = pathlib.Path(args.results) / (name.replace("/", "__") + ".json")
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(result))
            report(name, result, differences, counts)
    run = counts["passed"] + counts["explained"] + counts["unexplained"]
    share = counts["passed"] / run if run else 0
    print(
        f"\n{len(files)} files, {counts['files left out']} of them left out, "
        f"{counts['files not imported']} not imported. {counts['passed']} of {run} tests "
        f"passed ({share:.1%}), {counts['explained']} failed for a known reason, {counts['unexplained']} without one; "
        f"{counts['skipped']} skipped"
    )
    sys.exit(counts["unexplained"] > 0 or share < 0.95)


def _test_files(source):
    """Names and paths of the test files of a source tree: those of tensorflow/python by their place there."""
    for package in ("tensorflow", "tensorflow_estimator"):
        root = pathlib.Path(source) / package
        for path in sorted(root.rglob("*_test*.py")):
            name = str(path.relative_to(root))
            if not re.search(r"_test((?!ing)\w*_v[12])?\.py$", name):
                continue  # a module that tests share
            if name.startswith(("python/", "contrib/")) or package == "tensorflow_estimator":
                yield name.removeprefix("python/"), path


def _matches(name, patterns):
    return any(fnmatch.fnmatch(name, p) for p in patterns)


def report(name, result, differences, counts):
    """Prints a line for a file, and one for each failure without a reason."""
    if result["import_error"]:
        counts["files not imported"] += 1
        print(f"{name}: not imported: {result['import_error']}", flush=True)
        return
    own, lines = collections.Counter(), []
    for test, (state, message) in result["tests"].items():
        if state == "failed":
            reason = differences.reason(name, test, message)
            state = "explained" if reason else "unexplained"
            if not reason:
                lines.append(f"    {test}: {message}")
        own[state] += 1
    counts.update(own)
    print(
        f"{name}: " + ", ".join(f"{n} {state}" for state, n in sorted(own.items())),
        *lines,
        sep="\n",
        flush=True,
    )


if __name__ == "__main__":
    main()
