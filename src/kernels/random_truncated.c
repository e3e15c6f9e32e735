// Normal numbers between bounds, by three ways of rejection: the cheapest for where the bounds lie is taken.
#include "base/interrupt.h"
#include "kernels/random_convert.h"
#include "kernels/random_variates.h"

// Draws in a row that may be rejected.
#define REJECTED_MAX 1000
// A bound that far out on one side leaves half of all normal numbers at least. Found by measurement, by
// TensorFlow's authors.
#define DEVIATIONS_FOR_NORMAL 1.3

// Four floats, or two doubles, of a step of the stream.
static void uniforms_f32(bd_philox *stream, float out[4])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    for (int i = 0; i < 4; i++)
        out[i] = bd_uniform_f32(x[i]);
}

static void normals_f32(bd_philox *stream, float out[4])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    bd_normal_f32(x, out);
    bd_normal_f32(x + 2, out + 2);
}

static void uniforms_f64(bd_philox *stream, double out[2])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    out[0] = bd_uniform_f64(x[0], x[1]);
    out[1] = bd_uniform_f64(x[2], x[3]);
}

static void normals_f64(bd_philox *stream, double out[2])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    bd_normal_f64(x, out);
}

// In units of the deviation from the mean; a negative deviation turns the side around.

#define T float
#define N 4
#define NAME(x) x##_f32
#define SQRT sqrtf
#define EXP expf
#define LOG logf
#include "kernels/random_truncated_loops.h"

#define T double
#define N 2
#define NAME(x) x##_f64
#define SQRT sqrt
#define EXP exp
#define LOG log
#include "kernels/random_truncated_loops.h"

bd_truncated_result bd_random_truncated_normal_f32(bd_philox *stream, const bd_truncated_normal *d,
                                                   int64_t count, float *out)
{
    return truncated_f32(stream, d, count, out);
}

bd_truncated_result bd_random_truncated_normal_f64(bd_philox *stream, const bd_truncated_normal *d,
                                                   int64_t count, double *out)
{
    return truncated_f64(stream, d, count, out);
}
