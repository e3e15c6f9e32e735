"""The base of predictors: a session with the tensors that are fed and fetched."""

import abc


class Predictor(metaclass=abc.ABCMeta):
    """A function from a dict of arrays to a dict of arrays.

    A subclass sets _graph, _session, and the dicts _feed_tensors and _fetch_tensors.
    """

    @property
    def graph(self):
        return self._graph

    @property
    def session(self):
        return self._session

    @property
    def feed_tensors(self):
        return self._feed_tensors

    @property
    def fetch_tensors(self):
        return self._fetch_tensors

    def __repr__(self):
        return (
            f"{type(self).__name__} with feed tensors {self._feed_tensors} and fetch_tensors "
            f"{self._fetch_tensors}"
        )

    def __call__(self, input_dict):
        """The outputs for inputs by their names. ValueError: a name is unknown."""
        unknown = set(input_dict) - set(self._feed_tensors)
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}\nexpected: {set(self._feed_tensors)}"
            )
        feeds = {self._feed_tensors[k]: value for k, value in input_dict.items() if value is not None}
        return self._session.run(fetches=self._fetch_tensors, feed_dict=feeds)

    def _take_signature(self, inputs, outputs):
        """Takes dicts from names to names of tensors."""
        tensor = self._graph.get_tensor_by_name
        self._feed_tensors = {key: tensor(name) for key, name in inputs.items()}
        self._fetch_tensors = {key: tensor(name) for key, name in outputs.items()}
