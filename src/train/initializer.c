// Initializers of variables.
#include <braid/ops.h>
#include <braid/variables.h>
#include <math.h>

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

static braid_out build_random_uniform(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                      braid_shape shape)
{
    return braid_cast(g, braid_random_uniform(g, shape, self->a, self->b), dtype);
}

static braid_out build_random_normal(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                     braid_shape shape)
{
    return braid_cast(g, braid_random_normal(g, shape, self->a, self->b), dtype);
}

static braid_out build_truncated_normal(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                        braid_shape shape)
{
    return braid_cast(g, braid_truncated_normal(g, shape, self->a, self->b), dtype);
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

static braid_out build_glorot_uniform(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                      braid_shape shape)
{
    (void)self;
    double in, out;
    fans(shape, &in, &out);
    float limit = (float)sqrt(6.0 / fmax(1.0, in + out));
    return braid_cast(g, braid_random_uniform(g, shape, -limit, limit), dtype);
}

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

braid_initializer braid_random_uniform_initializer(float min, float max)
{
    return (braid_initializer){.build = build_random_uniform, .a = min, .b = max};
}

braid_initializer braid_random_normal_initializer(float mean, float stddev)
{
    return (braid_initializer){.build = build_random_normal, .a = mean, .b = stddev};
}

braid_initializer braid_truncated_normal_initializer(float mean, float stddev)
{
    return (braid_initializer){.build = build_truncated_normal, .a = mean, .b = stddev};
}

braid_initializer braid_glorot_uniform_initializer(void)
{
    return (braid_initializer){.build = build_glorot_uniform};
}
