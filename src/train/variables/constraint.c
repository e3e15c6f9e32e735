// Constraints: what variables become after an update.
#include <braid/variable_scope.h>

#include "train/common/build.h"
#include <braid/ops.h>

// Keras' epsilon keeps a norm of 0 from being a divisor.
#define NORM_EPSILON 1e-7

static braid_out non_negative(const braid_constraint *self, braid_graph *g, braid_out value)
{
    (void)self;
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(value));
    const braid_out zero = braid_const_number(g, NULL, dtype, 0);
    return braid_mul(g, value, braid_cast(g, braid_greater_equal(g, value, zero), dtype));
}

// The norm that the value is to have.
static braid_out desired(const braid_constraint *self, braid_graph *g, braid_out norm)
{
    const braid_out within = braid_clip_by_value(g, norm, self->min, self->max);
    if (self->rate == 1) return within;
    return braid_add(g, train_number_op(g, "Mul", "mul", self->rate, within),
                     train_number_op(g, "Mul", "mul", 1 - self->rate, norm));
}

static braid_out norm_within(const braid_constraint *self, braid_graph *g, braid_out value)
{
    const braid_out axes = braid_const_int32s(g, "axes", self->axes, self->axis_count);
    const braid_out norm = braid_sqrt(g, train_reduce(g, "Sum", braid_square(g, value), axes, true));
    const braid_out divisor = train_number_op(g, "Add", "add", NORM_EPSILON, norm);
    return braid_mul(g, value, braid_div(g, desired(self, g, norm), divisor));
}

braid_constraint braid_non_negative_constraint(void)
{
    return (braid_constraint){.build = non_negative};
}

braid_constraint braid_max_norm_constraint(double max, const int32_t *axes, int count)
{
    return braid_min_max_norm_constraint(0, max, 1, axes, count);
}

braid_constraint braid_unit_norm_constraint(const int32_t *axes, int count)
{
    return braid_min_max_norm_constraint(1, 1, 1, axes, count);
}

braid_constraint braid_min_max_norm_constraint(double min, double max, double rate, const int32_t *axes,
                                               int count)
{
    braid_constraint c = {.build = norm_within, .min = min, .max = max, .rate = rate, .axis_count = 1};
    if (!axes) return c;
    c.axis_count = count < BRAID_RANK_MAX ? count : BRAID_RANK_MAX;
    for (int i = 0; i < c.axis_count; i++)
        c.axes[i] = axes[i];
    return c;
}
