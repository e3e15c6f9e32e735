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

braid_out braid_cosine_decay(braid_graph *g, float learning_rate, braid_out global_step, int64_t decay_steps,
                             float alpha)
{
    if (!check_steps(g, decay_steps)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "CosineDecay");
    const braid_out first = number(g, "learning_rate", learning_rate);
    braid_out step = step_of(g, global_step), steps = number(g, "decay_steps", (double)decay_steps);
    limit_step(g, false, &step, &steps);
    const braid_out angle = braid_mul(g, number(g, "Const", M_PI), braid_div(g, step, steps));
    const braid_out cosine = train_node1(g, "Cos", NULL, angle);
    const braid_out half = braid_mul(g, number(g, "half", 0.5), train_number_op(g, "Add", "add", 1, cosine));
    const braid_out part = braid_mul(g, number(g, "rest", 1 - (double)alpha), half);
    const braid_out factor = braid_add(g, part, number(g, "alpha", alpha));
    braid_pop_name_scope(g);
    return train_node2(g, "Mul", scope, first, factor);
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
