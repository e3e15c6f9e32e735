"""Mixtures of distributions of several kinds."""

import numpy as np

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import categorical
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Mixture"]


class Mixture(distribution.Distribution):
    """One of several distributions, by a Categorical.

    Args:
      cat: which one.
      components: the distributions, with batches of the shape that `cat` has.
      use_static_graph: whether each component draws all samples, of which those that count are taken.
        Otherwise each draws as many as count.
    """

    def __init__(
        self,
        cat,
        components,
        validate_args=False,
        allow_nan_stats=True,
        use_static_graph=False,
        name="Mixture",
    ):
        parameters = dict(locals())
        if not isinstance(cat, categorical.Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not isinstance(components, (list, tuple)):
            raise TypeError(f"components must be a list or tuple, but saw: {components}")
        if not all(isinstance(c, distribution.Distribution) for c in components):
            raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
        dtype = components[0].dtype
        if any(c.dtype != dtype for c in components):
            types = [(c.name, c.dtype) for c in components]
            raise TypeError(f"All components must have the same dtype, but saw dtypes: {types}")
        self._static_event, self._static_batch = components[0].event_shape, cat.batch_shape
        for c in components:
            self._static_event = self._static_event.merge_with(c.event_shape)
            self._static_batch = self._static_batch.merge_with(c.batch_shape)
        if self._static_event.ndims is None:
            raise ValueError(
                "Expected to know rank(event_shape) from components, but none of the components provide a "
                "static number of ndims"
            )
        with ops.name_scope(name, values=[cat.logits]) as name:
            count = tensor_util.constant_value(cat.event_size)
            if count is None:
                raise ValueError(
                    "Could not infer number of classes from cat and unable to compare this value to the "
                    "number of components passed in."
                )
            if count != len(components):
                raise ValueError(f"cat.num_classes != len(components): {count} vs. {len(components)}")
            self._assertions = []
            cat_shape = cat.batch_shape_tensor()
            cat_rank = array_ops.size(cat_shape)
            if validate_args:
                shapes = [c.batch_shape_tensor() for c in components]
                ranks = [array_ops.size(shape) for shape in shapes]
                message = "components[%d] batch shape must match cat batch shape"
                for own, others in ((cat_rank, ranks), (cat_shape, shapes)):
                    for i, other in enumerate(others):
                        check = check_ops.assert_equal(own, other, message=message % i)
                        self._assertions.append(check)
        self._cat, self._components = cat, list(components)
        self._use_static_graph = use_static_graph
        super().__init__(
            dtype=dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=cat._graph_parents + [p for c in components for p in c._graph_parents],
            name=name,
        )

    @property
    def cat(self):
        return self._cat

    @property
    def components(self):
        return self._components

    @property
    def num_components(self):
        return len(self._components)

    def _batch_shape_tensor(self):
        return self.cat.batch_shape_tensor()

    def _batch_shape(self):
        return self._static_batch

    def _event_shape_tensor(self):
        return self.components[0].event_shape_tensor()

    def _event_shape(self):
        return self._static_event

    def _weights(self, softmax=nn_ops.softmax, of_events=False):
        """The weight of each component; `of_events`: with a dimension for each of an event."""
        weights = array_ops.unstack(softmax(self.cat.logits), num=self.num_components, axis=-1)
        for _ in range(self.event_shape.ndims if of_events else 0):
            weights = [array_ops.expand_dims(w, -1) for w in weights]
        return weights

    def _weighted(self, values, of_events=True):
        weights = self._weights(of_events=of_events)
        return math_ops.add_n([w * v for w, v in zip(weights, values)])

    def _log_of(self, what, x):
        with ops.control_dependencies(self._assertions):
            x = ops.convert_to_tensor(x, name="x")
            values = [getattr(c, what)(x) for c in self.components]
            logs = [w + v for w, v in zip(self._weights(nn_ops.log_softmax), values)]
            return math_ops.reduce_logsumexp(array_ops.stack(logs, 0), [0])

    def _log_prob(self, x):
        return self._log_of("log_prob", x)

    def _log_cdf(self, x):
        return self._log_of("log_cdf", x)

    def _sample_n(self, n, seed=None):
        seeds = [seed]
        for _ in self.components:
            seeds.append(util.gen_new_seed(seeds[-1], "mixture"))
        return self._draw_all(n, seeds) if self._use_static_graph else self._draw_chosen(n, seeds)

    def _draw_all(self, n, seeds):
        event_ndims = self.event_shape.ndims
        chosen = self.cat.sample(n, seed=seeds[0])
        samples = [c.sample(n, seed=seed) for c, seed in zip(self.components, seeds[1:])]
        x = array_ops.stack(samples, -event_ndims - 1)
        kind = x.dtype.as_numpy_dtype
        chosen = array_ops.one_hot(
            indices=chosen,
            depth=self.num_components,
            on_value=np.ones([], dtype=kind),
            off_value=np.zeros([], dtype=kind),
        )
        chosen = distribution_util.pad_mixture_dimensions(chosen, self, self.cat, event_ndims)
        return math_ops.reduce_sum(x * chosen, axis=-1 - event_ndims)

    def _draw_chosen(self, n, seeds):
        with ops.control_dependencies(self._assertions):
            n = ops.convert_to_tensor(n, name="n")
            known = tensor_util.constant_value(n)
            n = n if known is None else int(known)
            chosen = self.cat.sample(n, seed=seeds[0])
            known = chosen.get_shape()
            if known.is_fully_defined():
                shape, size = known.as_list(), known.num_elements()
            else:
                shape, size = array_ops.shape(chosen), array_ops.size(chosen)
            if self.batch_shape.is_fully_defined():
                batch_size = self.batch_shape.num_elements()
            else:
                batch_size = math_ops.reduce_prod(self.batch_shape_tensor())
            if self.event_shape.is_fully_defined():
                event_shape = np.array(self.event_shape.as_list(), dtype=np.int32)
            else:
                event_shape = self.event_shape_tensor()
            places = array_ops.reshape(math_ops.range(0, size), shape)
            places = data_flow_ops.dynamic_partition(places, chosen, self.num_components)
            batch_places = array_ops.tile(math_ops.range(0, batch_size), [n])
            batch_places = array_ops.reshape(batch_places, shape)
            batch_places = data_flow_ops.dynamic_partition(batch_places, chosen, self.num_components)
            samples = []
            for c, seed, own, of_batch in zip(self.components, seeds[1:], places, batch_places):
                count = array_ops.size(own)
                drawn = c.sample(count, seed=seed)  # of the whole batch, of which each gives one number
                indices = batch_size * math_ops.range(count) + of_batch
                flat = array_ops.concat([[count * batch_size], event_shape], 0)
                drawn = array_ops.reshape(drawn, flat)
                samples.append(array_ops.gather(drawn, indices, name="samples_class_c_gather"))
            made = data_flow_ops.dynamic_stitch(indices=places, data=samples)
            whole = array_ops.concat([shape, self.event_shape_tensor()], 0)
            made = array_ops.reshape(made, whole)
            made.set_shape(known.concatenate(self.event_shape))
            return made

    def _mean(self):
        with ops.control_dependencies(self._assertions):
            return self._weighted([c.mean() for c in self.components])

    def _stddev(self):
        with ops.control_dependencies(self._assertions):
            means = [c.mean() for c in self.components]
            deviations = [c.stddev() for c in self.components]
            weights = self._weights()
            means, deviations = array_ops.stack(means, axis=-1), array_ops.stack(deviations, axis=-1)
            for _ in range(self.event_shape.ndims):
                weights = [array_ops.expand_dims(w, -1) for w in weights]
            weights = array_ops.stack(weights, axis=-1) * array_ops.ones_like(means)
            rows = [array_ops.reshape(x, [-1, self.num_components]) for x in (weights, means, deviations)]
            made = distribution_util.mixture_stddev(*rows)
            return array_ops.reshape(made, array_ops.shape(weights)[:-1])

    def entropy_lower_bound(self, name="entropy_lower_bound"):
        """The mean of the components' entropies, which the mixture's is not below."""
        with self._name_scope(name, values=[self.cat.logits]):
            with ops.control_dependencies(self._assertions):
                return self._weighted([c.entropy() for c in self.components], of_events=False)
