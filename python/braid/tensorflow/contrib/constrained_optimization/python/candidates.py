"""The best of several solutions of a constrained problem, and the best mixture of them.

See lemma 3 and section 5.2 of arXiv 1804.06500. They need scipy.
"""

import numpy as np


def _check_shapes(objective_vector, constraints_matrix):
    if np.shape(constraints_matrix)[1:] != np.shape(objective_vector):
        raise ValueError(
            "objective_vector must have shape (n,), and constraints_matrix (m, n), where n is the number of candidates, "
            "and m is the number of constraints"
        )


def _find_best_candidate_distribution_helper(objective_vector, constraints_matrix, maximum_violation=0.0):
    """(the best distribution with violations up to this one, None), or (None, why there is none)."""
    if maximum_violation < 0.0:
        raise ValueError("maximum_violation must be nonnegative")
    _check_shapes(objective_vector, constraints_matrix)
    import scipy.optimize

    constraints, candidates = np.shape(constraints_matrix)
    found = scipy.optimize.linprog(
        objective_vector,
        A_ub=constraints_matrix,
        b_ub=np.full(constraints, maximum_violation),
        A_eq=np.ones((1, candidates)),
        b_eq=np.ones(1),
        bounds=(0, None),
    )
    return (found.x, None) if found.success else (None, found.message)


def find_best_candidate_distribution(objective_vector, constraints_matrix, epsilon=0.0):
    """Probabilities of candidates with the least expected objective, where constraints are violated least.

    objective_vector: the objective of each candidate. constraints_matrix: a row for each constraint. epsilon:
    how exactly the least violation is searched for.

    Raises:
      ValueError: the shapes do not fit, or epsilon is negative.
      ImportError: there is no scipy.
    """
    if epsilon < 0.0:
        raise ValueError("epsilon must be nonnegative")
    best, _ = _find_best_candidate_distribution_helper(objective_vector, constraints_matrix)
    if best is not None:
        return best
    # A violation of `low` is too little, one of `high` is enough.
    low, high = 0.0, np.min(np.amax(constraints_matrix, axis=0))
    best, _ = _find_best_candidate_distribution_helper(objective_vector, constraints_matrix, high)
    assert best is not None
    while True:
        middle = 0.5 * (low + high)
        if min(middle - low, high - middle) <= epsilon:
            return best
        found, _ = _find_best_candidate_distribution_helper(objective_vector, constraints_matrix, middle)
        if found is None:
            low = middle
        else:
            best, high = found, middle


def find_best_candidate_index(objective_vector, constraints_matrix, rank_objectives=False):
    """The candidate whose worst rank is the best one; of several, the last one with the least objective.

    Candidates are ranked by each violation (max(0, constraint)), and by the objective if rank_objectives. The
    others are the arguments of find_best_candidate_distribution.

    Raises:
      ValueError: the shapes do not fit.
      ImportError: there is no scipy.
    """
    _check_shapes(objective_vector, constraints_matrix)
    import scipy.stats

    ranked = [np.maximum(0.0, row) for row in np.asarray(constraints_matrix)]
    if rank_objectives:
        ranked.append(objective_vector)
    ranks = [scipy.stats.rankdata(values, method="min") for values in ranked]
    worst = np.max(ranks, axis=0) if ranks else np.zeros(len(objective_vector))
    return min(range(len(objective_vector)), key=lambda i: (worst[i], objective_vector[i], -i), default=None)
