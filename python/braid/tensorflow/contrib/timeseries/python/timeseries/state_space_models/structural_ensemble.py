"""Structural models: a level with a trend, cycles, and deviations that are moving averages."""

from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import level_trend
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import periodic
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import state_space_model
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import varma
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest


def _of_each_feature(scope, make_member, configuration, member_configuration):
    """An ensemble of a member for each feature, in the scope SCOPE/featureN."""
    with variable_scope.variable_scope(scope):
        members = []
        for feature in range(configuration.num_features):
            with variable_scope.variable_scope(f"feature{feature}"):
                members.append(make_member(configuration=member_configuration))
        return state_space_model.StateSpaceCorrelatedFeaturesEnsemble(
            ensemble_members=members, configuration=configuration
        )


def _members(cycles, moving_average_order, autoregressive_order, use_level_noise, configuration):
    """The parts of a structural model; `cycles` has a function for each, to the model of a feature."""
    shared = configuration._replace(use_observation_noise=False)
    univariate = shared._replace(num_features=1)

    def level(configuration):
        return level_trend.AdderStateSpaceModel(use_level_noise=use_level_noise, configuration=configuration)

    members = [_of_each_feature("adder", level, shared, univariate)]
    with variable_scope.variable_scope("varma"):
        members.append(
            varma.VARMA(
                autoregressive_order=autoregressive_order,
                moving_average_order=moving_average_order,
                configuration=shared,
            )
        )
    for number, cycle in enumerate(cycles):
        members.append(_of_each_feature(f"cycle{number}", cycle, shared, univariate))
    return members


class StructuralEnsemble(state_space_model.StateSpaceIndependentEnsemble):
    """A structural model whose cycles have a value for each step of their period."""

    def __init__(
        self,
        periodicities,
        moving_average_order,
        autoregressive_order,
        use_level_noise=True,
        configuration=state_space_model.StateSpaceModelConfiguration(),
    ):
        """A model of integer periodicities (one or several), and of VARMA's orders."""

        def cycle(period):
            return lambda configuration: periodic.CycleStateSpaceModel(
                periodicity=period, configuration=configuration
            )

        cycles = [cycle(period) for period in nest.flatten(periodicities)]
        super().__init__(
            ensemble_members=_members(
                cycles, moving_average_order, autoregressive_order, use_level_noise, configuration
            ),
            configuration=configuration,
        )


class MultiResolutionStructuralEnsemble(state_space_model.StateSpaceIndependentEnsemble):
    """A structural model whose cycles have as many values as are asked for."""

    def __init__(
        self,
        cycle_num_latent_values,
        moving_average_order,
        autoregressive_order,
        periodicities,
        use_level_noise=True,
        configuration=state_space_model.StateSpaceModelConfiguration(),
    ):
        """A model of periodicities (any numbers, or None), with as many values as `cycle_num_latent_values`.

        These are one odd number for all periods, or one for each.
        """
        periods = [] if periodicities is None else nest.flatten(periodicities)
        counts = nest.flatten(cycle_num_latent_values)
        if len(periods) != len(counts):
            if len(counts) != 1:
                raise ValueError(
                    "`cycle_num_latent_values` must either be a list with the same size as `periodicity` or "
                    f"a scalar. Received length {len(counts)} `cycle_num_latent_values`, while "
                    f"`periodicities` has length {len(periods)}."
                )
            counts *= len(periods)

        def cycle(period, count):
            return lambda configuration: periodic.ResolutionCycleModel(
                num_latent_values=count, periodicity=period, configuration=configuration
            )

        cycles = [cycle(period, count) for period, count in zip(periods, counts)]
        super().__init__(
            ensemble_members=_members(
                cycles, moving_average_order, autoregressive_order, use_level_noise, configuration
            ),
            configuration=configuration,
        )
