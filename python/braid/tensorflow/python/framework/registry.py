"""Things by name, registered once."""

import sys


class Registry:
    """A table of what programs register. KeyError: a name is there already; LookupError: it is not there."""

    def __init__(self, name):
        self._name, self._registry, self._places = name, {}, {}

    def register(self, candidate, name=None):
        name = name or candidate.__name__
        if name in self._registry:
            raise KeyError(
                f"Registering two {self._name} with name '{name}'! (Previous registration was in "
                f"{self._places[name]})"
            )
        self._registry[name] = candidate
        caller = sys._getframe(1)
        self._places[name] = f"{caller.f_code.co_name} {caller.f_code.co_filename}:{caller.f_lineno}"

    def list(self):
        return list(self._registry)

    def lookup(self, name):
        if name not in self._registry:
            raise LookupError(f"{self._name} registry has no entry for: {name}")
        return self._registry[name]
