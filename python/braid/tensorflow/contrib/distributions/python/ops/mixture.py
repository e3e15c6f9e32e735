"""Mixtures of distributions of several kinds."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
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
            count = tensor_shape.dimension_value(cat.logits.get_shape().with_rank_at_least(1)[-1])
            if count is None:
                raise ValueError(
                    "Could not infer number of classes from cat and unable to compare this value to the "
                    "number of components passed in."
                )
            if count != len(components):
                raise ValueError(f"cat.num_classes != len(components): {count} vs. {len(components)}")
            self._assertions = []
            if validate_args:
                for i, c in enumerate(components):
                    message = f"components[{i}] batch shape must match cat batch shape"
                    shapes = cat.batch_shape_tensor(), c.batch_shape_tensor()
                    ranks = [array_ops.size(shape) for shape in shapes]
                    self._assertions.append(check_ops.assert_equal(*ranks, message=message))
                    self._assertions.append(check_ops.assert_equal(*shapes, message=message))
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
            logs = [
                w + getattr(c, what)(x) for w, c in zip(self._weights(nn_ops.log_softmax), self.components)
            ]
            return math_ops.reduce_logsumexp(array_ops.stack(logs, 0), [0])

    def _log_prob(self, x):
        return self._log_of("log_prob", x)

    def _log_cdf(self, x):
        return self._log_of("log_cdf", x)

    def _sample_n(self, n, seed=None):
        with ops.control_dependencies(self._assertions):
            chosen = self.cat.sample(n, seed=seed)
            seeds = []
            for _ in self.components:
                seed = util.gen_new_seed(seed, "mixture")
                seeds.append(seed)
            draw = self._draw_all if self._use_static_graph else self._draw_chosen
            return draw(n, chosen, seeds)

    def _draw_all(self, n, chosen, seeds):
        for _ in range(self.event_shape.ndims):
            chosen = array_ops.expand_dims(chosen, -1)
        samples = [c.sample(n, seed=seed) for c, seed in zip(self.components, seeds)]
        made = samples[0]
        for i, sample in enumerate(samples[1:], 1):
            made = array_ops.where_v2(math_ops.equal(chosen, i), sample, made)
        return made

    def _draw_chosen(self, n, chosen, seeds):
        batch_size = math_ops.reduce_prod(self.batch_shape_tensor())
        flat = array_ops.reshape(chosen, [-1])
        count = self.num_components
        places = data_flow_ops.dynamic_partition(math_ops.range(array_ops.size(flat)), flat, count)
        batch_places = array_ops.tile(math_ops.range(batch_size), [n])
        batch_places = data_flow_ops.dynamic_partition(batch_places, flat, count)
        event_shape, samples = self.event_shape_tensor(), []
        for c, seed, own in zip(self.components, seeds, batch_places):
            size = array_ops.size(own)
            drawn = c.sample(size, seed=seed)  # of the whole batch, of which each gives one number
            drawn = array_ops.reshape(drawn, array_ops.concat([[size * batch_size], event_shape], 0))
            samples.append(array_ops.gather(drawn, batch_size * math_ops.range(size) + own))
        made = data_flow_ops.dynamic_stitch(places, samples)
        return array_ops.reshape(made, array_ops.concat([array_ops.shape(chosen), event_shape], 0))

    def _mean(self):
        with ops.control_dependencies(self._assertions):
            return self._weighted([c.mean() for c in self.components])

    def _stddev(self):
        with ops.control_dependencies(self._assertions):
            means = [c.mean() for c in self.components]
            squares = [
                math_ops.square(c.stddev()) + math_ops.square(m) for c, m in zip(self.components, means)
            ]
            return math_ops.sqrt(self._weighted(squares) - math_ops.square(self._weighted(means)))

    def entropy_lower_bound(self, name="entropy_lower_bound"):
        """The mean of the components' entropies, which the mixture's is not below."""
        with self._name_scope(name, values=[self.cat.logits]):
            with ops.control_dependencies(self._assertions):
                return self._weighted([c.entropy() for c in self.components], of_events=False)
