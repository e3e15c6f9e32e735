// Initializers of variables: constants and random values. (initializer_matrix.c has those of matrices.)
#include "train/common/build.h"

#include <braid/ops.h>
#include <math.h>

// Random values of the initializer's seed; those of integers are rounded towards zero.
static braid_out random_values(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                               braid_shape shape, train_random r)
{
    const bool is_float =
        dtype == BRAID_FLOAT || dtype == BRAID_DOUBLE || dtype == BRAID_HALF || dtype == BRAID_BFLOAT16;
    r.dtype = is_float ? dtype : BRAID_FLOAT;
    r.seed = self->seed;
    r.has_seed = self->has_seed;
    return braid_cast(g, train_random_values(g, shape, &r), dtype);
}

static braid_out build_zeros(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                             braid_shape shape)
{
    (void)self;
    return braid_zeros(g, dtype, shape);
}

static braid_out build_ones(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                            braid_shape shape)
{
    (void)self;
    return braid_ones(g, dtype, shape);
}

static braid_out build_constant(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                braid_shape shape)
{
    return braid_full(g, "Const", dtype, shape, self->a);
}

// Parameters a and b of the distribution `variant`.
static braid_out build_random(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                              braid_shape shape)
{
    return random_values(
        self, g, dtype, shape,
        (train_random){.distribution = (braid_distribution)self->variant, .a = self->a, .b = self->b});
}

// ---- Sizes that depend on the shape ----

static braid_shape whole_shape(const braid_initializer *self, braid_shape shape)
{
    return self->partition ? self->partition->full_shape : shape;
}

// How many inputs and outputs a weight connects: of [..., in, out] with the leading dimensions a receptive
// field.
static void fans(braid_shape shape, double *in, double *out)
{
    double field = 1;
    for (int i = 0; i + 2 < shape.rank; i++)
        field *= (double)shape.dims[i];
    *out = shape.rank == 0 ? 1 : field * (double)shape.dims[shape.rank - 1];
    *in = shape.rank < 2 ? *out : field * (double)shape.dims[shape.rank - 2];
}

enum {
    VARIANT_MODES = 4 // `variant` of a variance scaling: distribution * VARIANT_MODES + mode
};

static train_random scaled(double variance, braid_distribution distribution)
{
    // The standard deviation of a normal distribution that is truncated at twice its own.
    const double truncated_stddev = 0.87962566103423978;
    const double stddev = sqrt(variance), limit = sqrt(3 * variance);
    if (distribution == BRAID_UNIFORM)
        return (train_random){.distribution = BRAID_UNIFORM, .a = -limit, .b = limit};
    const bool cut = distribution == BRAID_TRUNCATED_NORMAL;
    return (train_random){.distribution = distribution, .b = cut ? stddev / truncated_stddev : stddev};
}

static braid_out build_variance_scaling(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                        braid_shape shape)
{
    if (!(self->a > 0)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "`scale` must be positive float, not %g",
                         (double)self->a);
        return BRAID_NONE;
    }
    double in, out;
    fans(whole_shape(self, shape), &in, &out);
    const int mode = self->variant % VARIANT_MODES;
    const double fan = mode == BRAID_FAN_IN ? in : mode == BRAID_FAN_OUT ? out : (in + out) / 2;
    const double variance = (double)self->a / fmax(1, fan);
    return random_values(self, g, dtype, shape,
                         scaled(variance, (braid_distribution)(self->variant / VARIANT_MODES)));
}

static braid_out build_unit_scaling(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                    braid_shape shape)
{
    const braid_shape whole = whole_shape(self, shape);
    double inputs = 1;
    for (int i = 0; i + 1 < whole.rank; i++)
        inputs *= (double)whole.dims[i];
    const double limit = sqrt(3 / fmax(1, inputs)) * (double)self->a;
    return random_values(self, g, dtype, shape,
                         (train_random){.distribution = BRAID_UNIFORM, .a = -limit, .b = limit});
}

// ---- The initializers ----

braid_initializer braid_zeros_initializer(void)
{
    return (braid_initializer){.build = build_zeros};
}

braid_initializer braid_ones_initializer(void)
{
    return (braid_initializer){.build = build_ones};
}

braid_initializer braid_constant_initializer(float value)
{
    return (braid_initializer){.build = build_constant, .a = value};
}

static braid_initializer random_initializer(braid_distribution distribution, float a, float b)
{
    return (braid_initializer){.build = build_random, .variant = (int)distribution, .a = a, .b = b};
}

braid_initializer braid_random_uniform_initializer(float min, float max)
{
    return random_initializer(BRAID_UNIFORM, min, max);
}

braid_initializer braid_random_normal_initializer(float mean, float stddev)
{
    return random_initializer(BRAID_UNTRUNCATED_NORMAL, mean, stddev);
}

braid_initializer braid_truncated_normal_initializer(float mean, float stddev)
{
    return random_initializer(BRAID_TRUNCATED_NORMAL, mean, stddev);
}

braid_initializer braid_initializer_seeded(braid_initializer initializer, int64_t seed)
{
    initializer.seed = seed;
    initializer.has_seed = true;
    return initializer;
}

braid_initializer braid_variance_scaling_initializer(float scale, braid_fan_mode mode,
                                                     braid_distribution distribution)
{
    return (braid_initializer){.build = build_variance_scaling,
                               .variant = (int)distribution * VARIANT_MODES + (int)mode,
                               .a = scale};
}

braid_initializer braid_glorot_uniform_initializer(void)
{
    return braid_variance_scaling_initializer(1, BRAID_FAN_AVG, BRAID_UNIFORM);
}

braid_initializer braid_glorot_normal_initializer(void)
{
    return braid_variance_scaling_initializer(1, BRAID_FAN_AVG, BRAID_TRUNCATED_NORMAL);
}

braid_initializer braid_he_uniform_initializer(void)
{
    return braid_variance_scaling_initializer(2, BRAID_FAN_IN, BRAID_UNIFORM);
}

braid_initializer braid_he_normal_initializer(void)
{
    return braid_variance_scaling_initializer(2, BRAID_FAN_IN, BRAID_TRUNCATED_NORMAL);
}

braid_initializer braid_lecun_uniform_initializer(void)
{
    return braid_variance_scaling_initializer(1, BRAID_FAN_IN, BRAID_UNIFORM);
}

braid_initializer braid_lecun_normal_initializer(void)
{
    return braid_variance_scaling_initializer(1, BRAID_FAN_IN, BRAID_TRUNCATED_NORMAL);
}

braid_initializer braid_uniform_unit_scaling_initializer(float factor)
{
    return (braid_initializer){.build = build_unit_scaling, .a = factor};
}
