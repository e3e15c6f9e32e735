"""Random numbers, and the functions of Python's math, for the parameters of specifications."""

import math
import random
from math import *  # noqa: F401, F403


def Uf(lo=0.0, hi=1.0):
    """A number, all alike."""
    return random.uniform(lo, hi)


def Ui(lo, hi):
    """An integer from lo to hi, all alike."""
    return random.randint(lo, hi)


def Lf(lo, hi):
    """A number whose logarithm is alike."""
    return math.exp(random.uniform(math.log(lo), math.log(hi)))


def Li(lo, hi):
    """An integer from lo to hi whose logarithm is alike."""
    return math.floor(Lf(lo, hi + 1 - 1e-5))


def Nt(mu, sigma, limit=3.0):
    """A normal number, within `limit` standard deviations."""
    return min(max(random.gauss(mu, sigma), mu - limit * sigma), mu + limit * sigma)
