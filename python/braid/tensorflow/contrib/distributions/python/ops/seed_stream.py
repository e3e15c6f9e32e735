"""Seeds of a seed."""

import hashlib


__all__ = ["SeedStream"]


class SeedStream:
    """A function that returns another seed at each call, or None where `seed` is None."""

    def __init__(self, seed, salt):
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt, self._counter = salt, 0

    def __call__(self):
        self._counter += 1
        if self._seed is None:
            return None
        text = f"{self._seed}:{self._counter}:{self._salt}".encode("utf-8")
        return int(hashlib.sha512(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    @property
    def original_seed(self):
        return self._seed

    @property
    def salt(self):
        return self._salt
