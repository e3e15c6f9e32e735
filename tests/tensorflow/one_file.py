"""Runs one file of TensorFlow's own tests under `python3 -m braid` and writes what became of each test, as
JSON.

    one_file.py FILE RESULT
"""

import importlib.util
import json
import os
import sys
import traceback
import unittest

path, result_path = sys.argv[1:3]
result = {"import_error": None, "running": None, "tests": {}}


def save():
    with open(result_path, "w") as out:
        json.dump(result, out)


def message(error):
    kind, value, trace = error
    places = [f"{os.path.basename(f.filename)}:{f.lineno}" for f in traceback.extract_tb(trace)]
    return f"{kind.__name__}: {value}"[:400] + " @" + ",".join(places[-2:])


class Result(unittest.TestResult):
    def record(self, test, state, text=""):
        result["tests"][test.id().replace("tested.", "")] = [state, text]

    def startTest(self, test):
        result["running"] = test.id().replace("tested.", "")
        save()
        super().startTest(test)

    def addSuccess(self, test):
        self.record(test, "passed")

    def addFailure(self, test, error):
        self.record(test, "failed", message(error))

    addError = addFailure

    def addSkip(self, test, reason):
        self.record(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.record(test, "passed")

    def addSubTest(self, test, subtest, error):
        if error:
            self.record(subtest, "failed", message(error))


def load():
    spec = importlib.util.spec_from_file_location("tested", path)
    module = sys.modules["tested"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


sys.argv = [path]
save()
try:
    suite = load()
except BaseException as error:
    result["import_error"] = f"{type(error).__name__}: {error}"[:300]
else:
    suite.run(Result())
    result["running"] = None
save()
os._exit(0)  # threads of tests may still run
