// Random values.
#include "train/common/build.h"

#include <braid/ops.h>

static braid_out random_node(braid_graph *g, const char *op_type, braid_out shape, const train_random *r)
{
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    braid_op_input(d, shape);
    braid_op_attr_type(d, "dtype", r->dtype);
    if (r->has_seed) braid_op_attr_int(d, "seed2", r->seed);
    return braid_op_end_out(d);
}

// A uniform value, in a scope with the nodes that compute it.
static braid_out uniform(braid_graph *g, const char *scope, braid_out dims, const train_random *r)
{
    braid_out low = braid_const_number(g, "min", r->dtype, r->a);
    braid_out high = braid_const_number(g, "max", r->dtype, r->b);
    braid_out unit = random_node(g, "RandomUniform", dims, r);
    braid_out range = braid_sub(g, high, low);
    return train_node2(g, "Add", scope, braid_mul(g, unit, range), low);
}

static braid_out around(braid_graph *g, const char *scope, const char *op_type, braid_out dims,
                        const train_random *r)
{
    braid_out center = braid_const_number(g, "mean", r->dtype, r->a);
    braid_out width = braid_const_number(g, "stddev", r->dtype, r->b);
    braid_out scaled = braid_mul(g, random_node(g, op_type, dims, r), width);
    return train_node2(g, "Add", scope, scaled, center);
}

braid_out train_random_values(braid_graph *g, braid_shape shape, const train_random *r)
{
    static const char *const names[] = {"truncated_normal", "random_normal", "random_uniform"};
    const char *scope = braid_push_name_scope(g, names[r->distribution]);
    const braid_out dims = train_const_shape(g, "shape", shape);
    braid_out value;
    switch (r->distribution) {
    case BRAID_UNIFORM: value = uniform(g, scope, dims, r); break;
    case BRAID_UNTRUNCATED_NORMAL: value = around(g, scope, "RandomStandardNormal", dims, r); break;
    default: value = around(g, scope, "TruncatedNormal", dims, r); break;
    }
    braid_pop_name_scope(g);
    return value;
}

braid_out train_random_uniform_with(braid_graph *g, braid_out shape, const train_random *r)
{
    const char *scope = braid_push_name_scope(g, "random_uniform");
    braid_out value = uniform(g, scope, shape, r);
    braid_pop_name_scope(g);
    return value;
}

braid_out train_random_uniform(braid_graph *g, braid_dtype dtype, braid_out shape, double min, double max)
{
    const train_random r = {.distribution = BRAID_UNIFORM, .dtype = dtype, .a = min, .b = max};
    return train_random_uniform_with(g, shape, &r);
}

static braid_out of_floats(braid_graph *g, braid_distribution distribution, braid_shape shape, float a,
                           float b)
{
    return train_random_values(
        g, shape, &(train_random){.distribution = distribution, .dtype = BRAID_FLOAT, .a = a, .b = b});
}

braid_out braid_random_uniform(braid_graph *g, braid_shape shape, float min, float max)
{
    return of_floats(g, BRAID_UNIFORM, shape, min, max);
}

braid_out braid_random_normal(braid_graph *g, braid_shape shape, float mean, float stddev)
{
    return of_floats(g, BRAID_UNTRUNCATED_NORMAL, shape, mean, stddev);
}

braid_out braid_truncated_normal(braid_graph *g, braid_shape shape, float mean, float stddev)
{
    return of_floats(g, BRAID_TRUNCATED_NORMAL, shape, mean, stddev);
}
