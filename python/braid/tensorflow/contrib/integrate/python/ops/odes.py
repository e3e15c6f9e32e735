"""Solutions of y' = func(y, t): by steps of an adapted size (Dormand and Prince, 1980; Shampine, 1986), or of
a given one."""

import collections

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    math_ops,
    tensor_array_ops,
)

# Dormand and Prince's method: the times and the weights of the stages; the last stage is at the solution.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# Shampine's weights of the derivatives for the solution in the middle of a step.
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)
# The solution of order 5 less that of order 4.
_ERROR = tuple(
    low - high
    for low, high in zip(
        (1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60), (*_STAGES[-1], 0)
    )
)

# y1 and f1 are at t1, the end of the last step; dt is the size of the next one; interp_coeff: the polynomial
# between t0 and t1.
_RungeKuttaState = collections.namedtuple("_RungeKuttaState", "y1, f1, t0, t1, dt, interp_coeff")
_History = collections.namedtuple("_History", "integrate_points, error_ratio")  # TensorArrays


def _weighted_sum(weights, values):
    return math_ops.add_n([w * v for w, v in zip(weights, values) if isinstance(w, ops.Tensor) or w != 0])


def _runge_kutta_step(func, y0, f0, t0, dt, name=None):
    """(y, y' and the estimate of y's error at t0 + dt, the derivatives of the stages)."""
    with ops.name_scope(name, "runge_kutta_step", [y0, f0, t0, dt]):
        step, k, y = math_ops.cast(dt, y0.dtype), [f0], y0
        for time, weights in zip(_TIMES, _STAGES):
            y = y0 + step * _weighted_sum(weights, k)
            k.append(func(y, t0 + time * dt))
        return y, k[-1], step * _weighted_sum(_ERROR, k), k


def _interp_fit(y0, y1, y_mid, f0, f1, dt):
    """The coefficients, highest power first, of the polynomial of degree 4 on [0, 1] with these values at the
    ends and in the middle, and with these derivatives at the ends."""
    with ops.name_scope("interp_fit"):
        return [
            _weighted_sum([-2 * dt, 2 * dt, -8, -8, 16], [f0, f1, y0, y1, y_mid]),
            _weighted_sum([5 * dt, -3 * dt, 18, 14, -32], [f0, f1, y0, y1, y_mid]),
            _weighted_sum([-4 * dt, dt, -11, -5, 16], [f0, f1, y0, y1, y_mid]),
            dt * f0,
            y0,
        ]


def _interp_fit_rk(y0, y1, k, dt):
    with ops.name_scope("interp_fit_rk"):
        dt = math_ops.cast(dt, y0.dtype)
        return _interp_fit(y0, y1, y0 + dt * _weighted_sum(_MIDDLE, k), k[0], k[-1], dt)


def _interp_evaluate(coefficients, t0, t1, t):
    """The value at t of the polynomial of the interval from t0 to t1."""
    with ops.name_scope("interp_evaluate"):
        t0, t1, t = map(ops.convert_to_tensor, (t0, t1, t))
        is_within = control_flow_ops.Assert(
            math_ops.logical_and(t0 <= t, t <= t1),
            ["invalid interpolation, fails `t0 <= t <= t1`:", t0, t, t1],
        )
        with ops.control_dependencies([is_within]):
            x = math_ops.cast((t - t0) / (t1 - t0), ops.convert_to_tensor(coefficients[0]).dtype)
        value = coefficients[0]
        for c in coefficients[1:]:
            value = value * x + c
        return value


def _optimal_step_size(last_step, error_ratio, safety=0.9, ifactor=10.0, dfactor=0.2, order=5, name=None):
    """The size of the next step, from the ratio of the last one's error to what is tolerated.

    ifactor, dfactor: by which a size grows at most, and shrinks at most.
    """
    with ops.name_scope(name, "optimal_step_size", [last_step, error_ratio]) as scope:
        error_ratio = math_ops.cast(error_ratio, last_step.dtype)
        exponent = math_ops.cast(1 / order, last_step.dtype)
        wanted = math_ops.minimum(error_ratio**exponent / safety, 1 / dfactor)
        return math_ops.div(last_step, math_ops.maximum(1 / ifactor, wanted), name=scope)


def _abs_square(x):
    if x.dtype.is_complex:
        return math_ops.square(math_ops.real(x)) + math_ops.square(math_ops.imag(x))
    return math_ops.square(x)


def _appended(array, value):
    return array.write(array.size(), value)


def _assert_increasing(t):
    is_increasing = math_ops.reduce_all(t[1:] > t[:-1])
    check = control_flow_ops.Assert(is_increasing, ["`t` must be monotonic increasing"])
    return ops.control_dependencies([check])


def _check_input_types(y0, t, dt=None):
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype")
    if not t.dtype.is_floating:
        raise TypeError("`t` must have a floating point dtype")
    if dt is not None and not dt.dtype.is_floating:
        raise TypeError("`dt` must have a floating point dtype")


def _dopri5(
    func,
    y0,
    t,
    rtol,
    atol,
    full_output=False,
    first_step=None,
    safety=0.9,
    ifactor=10.0,
    dfactor=0.2,
    max_num_steps=1000,
    name=None,
):
    with ops.name_scope(
        name, "dopri5", [y0, t, rtol, atol, safety, ifactor, dfactor, max_num_steps]
    ) as scope:
        first_step = 1.0 if first_step is None else first_step
        first_step = ops.convert_to_tensor(first_step, dtype=t.dtype, name="first_step")
        safety = ops.convert_to_tensor(safety, dtype=t.dtype, name="safety")
        ifactor = ops.convert_to_tensor(ifactor, dtype=t.dtype, name="ifactor")
        dfactor = ops.convert_to_tensor(dfactor, dtype=t.dtype, name="dfactor")
        max_num_steps = ops.convert_to_tensor(max_num_steps, dtype=dtypes.int32, name="max_num_steps")

        def take_step(state, history, n_steps):
            """A step; one whose error is too large is taken again with a smaller size."""
            y0, f0, _, t0, dt, coefficients = state
            checks = [
                control_flow_ops.Assert(t0 + dt > t0, ["underflow in dt", dt]),
                control_flow_ops.Assert(n_steps < max_num_steps, ["max_num_steps exceeded"]),
                control_flow_ops.Assert(
                    math_ops.reduce_all(math_ops.is_finite(math_ops.abs(y0))),
                    ["non-finite values in state `y`", y0],
                ),
            ]
            with ops.control_dependencies(checks):
                y1, f1, error, k = _runge_kutta_step(func, y0, f0, t0, dt)
            with ops.name_scope("error_ratio"):
                tolerated = atol + rtol * math_ops.maximum(math_ops.abs(y0), math_ops.abs(y1))
                ratio = math_ops.sqrt(math_ops.reduce_mean(_abs_square(error) / _abs_square(tolerated)))
                is_good = ratio <= 1
            with ops.name_scope("update"):
                end = t0 + dt
                state = _RungeKuttaState(
                    control_flow_ops.cond(is_good, lambda: y1, lambda: y0),
                    control_flow_ops.cond(is_good, lambda: f1, lambda: f0),
                    t0,
                    control_flow_ops.cond(is_good, lambda: end, lambda: t0),
                    _optimal_step_size(dt, ratio, safety, ifactor, dfactor),
                    control_flow_ops.cond(
                        is_good, lambda: _interp_fit_rk(y0, y1, k, dt), lambda: coefficients
                    ),
                )
                history = _History(
                    _appended(history.integrate_points, end), _appended(history.error_ratio, ratio)
                )
            return state, history, n_steps + 1

        def interpolate(solution, history, state, i):
            """The solution at t[i], for which steps are taken until one ends behind it."""
            with ops.name_scope("interpolate"):
                state, history, _ = control_flow_ops.while_loop(
                    lambda state, *_: t[i] > state.t1, take_step, (state, history, 0), name="integrate_loop"
                )
                y = _interp_evaluate(state.interp_coeff, state.t0, state.t1, t[i])
                return solution.write(i, y), history, state, i + 1

        with _assert_increasing(t):
            num_times = array_ops.size(t)
        solution = tensor_array_ops.TensorArray(y0.dtype, size=num_times).write(0, y0)
        history = _History(
            tensor_array_ops.TensorArray(t.dtype, size=0, dynamic_size=True),
            tensor_array_ops.TensorArray(rtol.dtype, size=0, dynamic_size=True),
        )
        state = _RungeKuttaState(y0, func(y0, t[0]), t[0], t[0], first_step, [y0] * 5)
        solution, history, _, _ = control_flow_ops.while_loop(
            lambda *loop: loop[-1] < num_times,
            interpolate,
            (solution, history, state, 1),
            name="interpolate_loop",
        )
        y = solution.stack(name=scope)
        y.set_shape(t.get_shape().concatenate(y0.get_shape()))
        if not full_output:
            return y
        points = history.integrate_points.stack()
        return y, {
            "num_func_evals": 6 * array_ops.size(points) + 1,
            "integrate_points": points,
            "error_ratio": history.error_ratio.stack(),
        }


def odeint(func, y0, t, rtol=1e-6, atol=1e-12, method=None, options=None, full_output=False, name=None):
    """The solution at the times t, which increase: a tensor whose first dimension is that of t.

    func: y' from y and a scalar t. method: "dopri5". options: first_step, safety, ifactor, dfactor and
    max_num_steps (between two times). full_output: also gives a dictionary of num_func_evals,
    integrate_points and error_ratio. A step's error is at most atol + rtol * |y|.
    """
    if method is not None and method != "dopri5":
        raise ValueError(f"invalid method: {method!r}")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    with ops.name_scope(name, "odeint", [y0, t, rtol, atol]) as scope:
        y0 = ops.convert_to_tensor(y0, name="y0")
        t = ops.convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
        _check_input_types(y0, t)
        error_dtype = math_ops.abs(y0).dtype
        rtol = ops.convert_to_tensor(rtol, dtype=error_dtype, name="rtol")
        atol = ops.convert_to_tensor(atol, dtype=error_dtype, name="atol")
        return _dopri5(func, y0, t, rtol, atol, full_output=full_output, name=scope, **(options or {}))


def _midpoint(func, y, t, dt, step):
    return step * func(y + func(y, t) * step / 2, t + dt / 2)


def _rk4(func, y, t, dt, step):
    k1 = func(y, t)
    k2 = func(y + step * k1 / 2, t + dt / 2)
    k3 = func(y + step * k2 / 2, t + dt / 2)
    k4 = func(y + step * k3, t + dt)
    return math_ops.add_n([k1, 2 * k2, 2 * k3, k4]) * (step / 6)


def odeint_fixed(func, y0, t, dt=None, method="rk4", name=None):
    """The solution at the times t, which increase, by steps of one size between two times.

    dt: the size, or one for each interval of t, which is made smaller so that steps fill the interval; None:
    one step for each. method: "midpoint" or "rk4".
    """
    with ops.name_scope(name, "odeint_fixed", [y0, t, dt]):
        t = ops.convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
        y0 = ops.convert_to_tensor(y0, name="y0")
        intervals = t[1:] - t[:-1]
        dt = ops.convert_to_tensor(intervals if dt is None else dt, preferred_dtype=dtypes.float64, name="dt")
        counts = math_ops.ceil(intervals / dt)
        dt = intervals / counts
        counts = math_ops.cast(counts, dtype=dtypes.int32)
        _check_input_types(y0, t, dt)
        if t.get_shape().ndims > 1 or dt.get_shape().ndims > 1:
            raise ValueError("t must be a 1D tensor")
        if not t.get_shape()[:1].is_compatible_with([(dt.get_shape().dims[0] + 1).value]):
            raise ValueError("t and dt have incompatible lengths, must be N and N-1")
        if method not in ("midpoint", "rk4"):
            raise ValueError(f"method not supported: {method!s}")
        advance = _midpoint if method == "midpoint" else _rk4

        def take_step(y, time, j, i):
            size = dt[i - 1]
            change = advance(func, y, time, size, math_ops.cast(size, y.dtype))
            return y + math_ops.cast(change, y.dtype), time + size, j + 1, i

        def integrate_interval(solution, y, time, i):
            y, time, _, _ = control_flow_ops.while_loop(
                lambda *loop: loop[2] < counts[i - 1], take_step, (y, time, 0, i)
            )
            return solution.write(i, y), y, time, i + 1

        with _assert_increasing(t), ops.name_scope(method):
            num_times = array_ops.size(t)
            solution = tensor_array_ops.TensorArray(y0.dtype, num_times).write(0, y0)
            solution = control_flow_ops.while_loop(
                lambda *loop: loop[-1] < num_times, integrate_interval, (solution, y0, t[0], 1)
            )[0].stack()
            solution.set_shape(t.get_shape().concatenate(y0.get_shape()))
            return solution
