// Learning rates that change with the global step.
#include <braid/learning_rate_decay.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/variables.h>
#include <math.h>

// The step as a float scalar.
static braid_out step_of(braid_graph *g, braid_out global_step)
{
    if (!global_step.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "global_step is required for a decay of the learning rate");
        return BRAID_NONE;
    }
    const braid_out read = braid_variable_find(global_step).read;
    return braid_cast(g, read.op ? read : global_step, BRAID_FLOAT);
}

static bool check_steps(braid_graph *g, int64_t decay_steps)
{
    if (decay_steps > 0) return true;
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "decay_steps must be positive, not %lld",
                     (long long)decay_steps);
    return false;
}

static braid_out number(braid_graph *g, const char *name, double value)
{
    return braid_const_float(g, name, (float)value);
}

// step / decay_steps
static braid_out periods(braid_graph *g, braid_out global_step, int64_t decay_steps, bool staircase)
{
    const braid_out p = braid_div(g, step_of(g, global_step), number(g, "decay_steps", (double)decay_steps));
    return staircase ? train_node1(g, "Floor", NULL, p) : p;
}

braid_out braid_exponential_decay(braid_graph *g, float learning_rate, braid_out global_step,
                                  int64_t decay_steps, float decay_rate, bool staircase)
{
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "ExponentialDecay");
    const braid_out first = number(g, "learning_rate", learning_rate);
    const braid_out p = periods(g, global_step, decay_steps, staircase);
    const braid_out factor = train_node2(g, "Pow", NULL, number(g, "decay_rate", decay_rate), p);
    braid_pop_name_scope(g);
    return train_node2(g, "Mul", scope, first, factor);
}

braid_out braid_natural_exp_decay(braid_graph *g, float learning_rate, braid_out global_step,
                                  int64_t decay_steps, float decay_rate, bool staircase)
{
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "NaturalExpDecay");
    const braid_out first = number(g, "learning_rate", learning_rate);
    const braid_out p = periods(g, global_step, decay_steps, staircase);
    const braid_out exponent = braid_mul(g, braid_neg(g, number(g, "decay_rate", decay_rate)), p);
    const braid_out factor = braid_exp(g, exponent);
    braid_pop_name_scope(g);
    return train_node2(g, "Mul", scope, first, factor);
}

braid_out braid_inverse_time_decay(braid_graph *g, float learning_rate, braid_out global_step,
                                   int64_t decay_steps, float decay_rate, bool staircase)
{
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "InverseTimeDecay");
    const braid_out first = number(g, "learning_rate", learning_rate);
    const braid_out p = periods(g, global_step, decay_steps, staircase);
    const braid_out below =
        train_number_op(g, "Add", "add", 1, braid_mul(g, number(g, "decay_rate", decay_rate), p));
    braid_pop_name_scope(g);
    return train_node2(g, "RealDiv", scope, first, below);
}

// The step, which does not grow beyond decay_steps; or, with `cycle`, decay_steps as a multiple that is not
// below the step.
static void limit_step(braid_graph *g, bool cycle, braid_out *step, braid_out *decay_steps)
{
    if (!cycle) {
        *step = braid_minimum(g, *step, *decay_steps);
        return;
    }
    const braid_out rounds = train_node1(g, "Ceil", NULL, braid_div(g, *step, *decay_steps));
    *decay_steps = braid_mul(g, *decay_steps, braid_maximum(g, rounds, number(g, "one", 1)));
}

braid_out braid_polynomial_decay(braid_graph *g, float learning_rate, braid_out global_step,
                                 int64_t decay_steps, float end_learning_rate, float power, bool cycle)
{
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "PolynomialDecay");
    const braid_out first = number(g, "learning_rate", learning_rate);
    const braid_out last = number(g, "end_learning_rate", end_learning_rate);
    braid_out step = step_of(g, global_step), steps = number(g, "decay_steps", (double)decay_steps);
    limit_step(g, cycle, &step, &steps);
    const braid_out left = train_number_op(g, "Sub", "sub", 1, braid_div(g, step, steps));
    const braid_out part = train_node2(g, "Pow", NULL, left, number(g, "power", power));
    const braid_out above_last = braid_mul(g, braid_sub(g, first, last), part);
    braid_pop_name_scope(g);
    return train_node2(g, "Add", scope, above_last, last);
}

// (1 + cos(pi part)) / 2
static braid_out half_cosine(braid_graph *g, braid_out part)
{
    const braid_out cosine = train_node1(g, "Cos", NULL, braid_mul(g, number(g, "Const", M_PI), part));
    return braid_mul(g, number(g, "half", 0.5), train_number_op(g, "Add", "add", 1, cosine));
}

// (1 - alpha) part + alpha
static braid_out above_alpha(braid_graph *g, braid_out part, float alpha)
{
    const braid_out rest = braid_mul(g, number(g, "rest", 1 - (double)alpha), part);
    return braid_add(g, rest, number(g, "alpha", alpha));
}

braid_out braid_cosine_decay(braid_graph *g, float learning_rate, braid_out global_step, int64_t decay_steps,
                             float alpha)
{
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "CosineDecay");
    const braid_out first = number(g, "learning_rate", learning_rate);
    braid_out step = step_of(g, global_step), steps = number(g, "decay_steps", (double)decay_steps);
    limit_step(g, false, &step, &steps);
    const braid_out factor = above_alpha(g, half_cosine(g, braid_div(g, step, steps)), alpha);
    braid_pop_name_scope(g);
    return train_node2(g, "Mul", scope, first, factor);
}

// Divides a number of first periods into completed ones and a part of the current one. Periods grow by the
// factor t_mul: n of them have the length (1 - t_mul^n) / (1 - t_mul).
static void split_periods(braid_graph *g, braid_out periods, float t_mul, braid_out *completed,
                          braid_out *part)
{
    if (t_mul == 1) {
        *completed = train_node1(g, "Floor", NULL, periods);
        *part = braid_sub(g, periods, *completed);
        return;
    }
    const double shrink = 1 - (double)t_mul;
    const braid_out power =
        train_number_op(g, "Sub", "sub", 1, train_op_number(g, "Mul", "mul", periods, shrink));
    *completed = train_node1(g, "Floor", NULL,
                             train_op_number(g, "RealDiv", "truediv", braid_log(g, power), log(t_mul)));
    const braid_out length = train_number_op(g, "Pow", "pow", t_mul, *completed); // of the current period
    const braid_out begin =
        train_op_number(g, "RealDiv", "truediv", train_number_op(g, "Sub", "sub", 1, length), shrink);
    *part = braid_div(g, braid_sub(g, periods, begin), length);
}

braid_out braid_cosine_decay_restarts(braid_graph *g, float learning_rate, braid_out global_step,
                                      int64_t first_decay_steps, float t_mul, float m_mul, float alpha)
{
    if (!check_steps(g, first_decay_steps)) return BRAID_NONE;
    if (!(t_mul >= 1)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "t_mul must be at least 1, not %g", (double)t_mul);
        return BRAID_NONE;
    }
    const char *scope = braid_push_name_scope(g, "SGDRDecay");
    const braid_out first = number(g, "learning_rate", learning_rate);
    braid_out completed, part;
    split_periods(g, periods(g, global_step, first_decay_steps, false), t_mul, &completed, &part);
    const braid_out height = train_number_op(g, "Pow", "pow", m_mul, completed);
    const braid_out factor = above_alpha(g, braid_mul(g, height, half_cosine(g, part)), alpha);
    braid_pop_name_scope(g);
    return train_node2(g, "Mul", scope, first, factor);
}

// A linear decay times a cosine, of a global step; what both linear cosine decays have in common.
typedef struct linear_cosine {
    braid_out first, step, steps; // the learning rate; the step, limited; decay_steps
    float num_periods, alpha, beta;
} linear_cosine;

static linear_cosine begin_linear_cosine(braid_graph *g, float learning_rate, braid_out global_step,
                                         int64_t decay_steps)
{
    linear_cosine d = {.first = number(g, "learning_rate", learning_rate)};
    d.step = step_of(g, global_step);
    d.steps = number(g, "decay_steps", (double)decay_steps);
    limit_step(g, false, &d.step, &d.steps);
    return d;
}

// (1 + alpha - u + noise) (1 + cos(2 pi num_periods u)) / 2 + beta, with u = step / steps. Leaves the scope.
static braid_out end_linear_cosine(braid_graph *g, const char *scope, const linear_cosine *d, braid_out noise)
{
    const braid_out part = braid_div(g, d->step, d->steps);
    braid_out linear = train_number_op(g, "Sub", "sub", 1 + (double)d->alpha, part);
    if (noise.op) linear = braid_add(g, linear, noise);
    const braid_out cosine =
        half_cosine(g, train_op_number(g, "Mul", "mul", part, 2 * (double)d->num_periods));
    const braid_out factor = train_op_number(g, "Add", "add", braid_mul(g, linear, cosine), (double)d->beta);
    braid_pop_name_scope(g);
    return train_node2(g, "Mul", scope, d->first, factor);
}

braid_out braid_linear_cosine_decay(braid_graph *g, float learning_rate, braid_out global_step,
                                    int64_t decay_steps, float num_periods, float alpha, float beta)
{
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "LinearCosineDecay");
    linear_cosine d = begin_linear_cosine(g, learning_rate, global_step, decay_steps);
    d.num_periods = num_periods;
    d.alpha = alpha;
    d.beta = beta;
    return end_linear_cosine(g, scope, &d, BRAID_NONE);
}

braid_out braid_noisy_linear_cosine_decay(braid_graph *g, float learning_rate, braid_out global_step,
                                          int64_t decay_steps,
                                          const braid_noisy_linear_cosine_options *options)
{
    static const braid_noisy_linear_cosine_options none;
    const braid_noisy_linear_cosine_options *o = options ? options : &none;
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    if (o->initial_variance < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "initial_variance must not be negative, as %g is",
                         (double)o->initial_variance);
        return BRAID_NONE;
    }
    const char *scope = braid_push_name_scope(g, "NoisyLinearCosineDecay");
    linear_cosine d = begin_linear_cosine(g, learning_rate, global_step, decay_steps);
    d.num_periods = o->num_periods ? o->num_periods : 0.5f;
    d.alpha = o->alpha;
    d.beta = o->beta ? o->beta : 0.001f;
    const double variance_decay = o->variance_decay ? (double)o->variance_decay : 0.55;
    const braid_out growth =
        train_op_number(g, "Pow", "Pow", train_number_op(g, "Add", "add", 1, d.step), variance_decay);
    const braid_out variance = train_number_op(g, "RealDiv", "truediv",
                                               o->initial_variance ? (double)o->initial_variance : 1, growth);
    const braid_out unit = braid_random_normal(g, BRAID_SCALAR, 0, 1);
    return end_linear_cosine(g, scope, &d, braid_mul(g, unit, braid_sqrt(g, variance)));
}

// ---- Piecewise constant: the number of boundaries below the step is the index of the value ----

static braid_out constant(braid_graph *g, const char *name, braid_dtype dtype, const void *values, int count)
{
    braid_tensor *t = braid_tensor_from(dtype, BRAID_SHAPE(count), values, NULL);
    const braid_out out = braid_const(g, name, t);
    braid_tensor_free(t);
    return out;
}

static bool check_boundaries(braid_graph *g, const int64_t *boundaries, int count)
{
    bool increase = count >= 0;
    for (int i = 1; i < count; i++)
        increase = increase && boundaries[i] > boundaries[i - 1];
    if (!increase)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "The boundaries of learning rates must increase");
    return increase;
}

braid_out braid_piecewise_constant(braid_graph *g, braid_out global_step, const int64_t *boundaries,
                                   const float *values, int count)
{
    if (!check_boundaries(g, boundaries, count)) return BRAID_NONE;
    (void)braid_push_name_scope(g, "PiecewiseConstant");
    const braid_out table = constant(g, "values", BRAID_FLOAT, values, count + 1);
    const braid_out limits = constant(g, "boundaries", BRAID_INT64, boundaries, count);
    const braid_variable v = global_step.op ? braid_variable_find(global_step) : (braid_variable){0};
    const braid_out step = braid_cast(g, v.read.op ? v.read : global_step, BRAID_INT64);
    const braid_out passed = braid_cast(g, train_node2(g, "Greater", NULL, step, limits), BRAID_INT32);
    const braid_out rate = braid_gather(g, table, braid_reduce_sum(g, passed));
    braid_pop_name_scope(g);
    return rate;
}
