"""What a model's outputs are."""


class ProblemType:
    """The kinds of heads: each has its kind of signature."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3
