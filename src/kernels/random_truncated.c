// Normal numbers between bounds, by three ways of rejection: the cheapest for where the bounds lie is taken.
#include "kernels/random_convert.h"
#include "kernels/random_variates.h"

// Draws in a row that may be rejected.
#define REJECTED_MAX 1000
// A bound that far out on one side leaves half of all normal numbers at least. Found by measurement, by
// TensorFlow's authors.
#define DEVIATIONS_FOR_NORMAL 1.3

// Four floats, or two doubles, of a step of the stream.
static void uniforms_float(bd_philox *stream, float out[4])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    for (int i = 0; i < 4; i++)
        out[i] = bd_uniform_f32(x[i]);
}

static void normals_float(bd_philox *stream, float out[4])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    bd_normal_f32(x, out);
    bd_normal_f32(x + 2, out + 2);
}

static void uniforms_double(bd_philox *stream, double out[2])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    out[0] = bd_uniform_f64(x[0], x[1]);
    out[1] = bd_uniform_f64(x[2], x[3]);
}

static void normals_double(bd_philox *stream, double out[2])
{
    uint32_t x[4];
    bd_philox_next4(stream, x);
    bd_normal_f64(x, out);
}

// In units of the deviation from the mean; a negative deviation turns the side around.
#define TRUNCATED(T, N, SQRT, EXP, LOG)                                                                      \
    typedef struct job_##T {                                                                                 \
        T mean, deviation, low, high;                                                                        \
        int64_t count;                                                                                       \
        T *out;                                                                                              \
    } job_##T;                                                                                               \
    /* Takes z, or one more rejection. False when there were too many. */                                    \
    static bool settle_##T(const job_##T *j, bool accept, T z, int64_t *done, int *rejected)                 \
    {                                                                                                        \
        if (accept) j->out[(*done)++] = z * j->deviation + j->mean;                                          \
        *rejected = accept ? 0 : *rejected + 1;                                                              \
        return *rejected < REJECTED_MAX;                                                                     \
    }                                                                                                        \
    static bool by_normal_##T(bd_philox *stream, const job_##T *j)                                           \
    {                                                                                                        \
        int rejected = 0;                                                                                    \
        for (int64_t done = 0; done < j->count;) {                                                           \
            T z[N];                                                                                          \
            normals_##T(stream, z);                                                                          \
            for (int i = 0; i < (N) && done < j->count; i++) {                                               \
                if (!settle_##T(j, z[i] >= j->low && z[i] <= j->high, z[i], &done, &rejected)) return false; \
            }                                                                                                \
        }                                                                                                    \
        return true;                                                                                         \
    }                                                                                                        \
    static bool by_uniform_##T(bd_philox *stream, const job_##T *j)                                          \
    {                                                                                                        \
        T square = j->low < 0 ? 0 : j->low * j->low, width = j->high - j->low;                               \
        int rejected = 0;                                                                                    \
        for (int64_t done = 0; done < j->count;) {                                                           \
            T place[N], u[N];                                                                                \
            uniforms_##T(stream, place);                                                                     \
            uniforms_##T(stream, u);                                                                         \
            for (int i = 0; i < (N) && done < j->count; i++) {                                               \
                T z = place[i] * width + j->low;                                                             \
                if (!settle_##T(j, u[i] <= EXP((square - z * z) / 2), z, &done, &rejected)) return false;    \
            }                                                                                                \
        }                                                                                                    \
        return true;                                                                                         \
    }                                                                                                        \
    static bool by_exponential_##T(bd_philox *stream, const job_##T *j)                                      \
    {                                                                                                        \
        T alpha = (j->low + SQRT(j->low * j->low + 4)) / 2;                                                  \
        int rejected = 0;                                                                                    \
        for (int64_t done = 0; done < j->count;) {                                                           \
            T u[N];                                                                                          \
            uniforms_##T(stream, u);                                                                         \
            for (int i = 0; i < (N) && done < j->count; i += 2) {                                            \
                T z = -LOG(u[i]) / alpha + j->low;                                                           \
                T x = j->low < alpha ? alpha - z : j->low - alpha;                                           \
                bool accept = u[i + 1] <= EXP(-x * x / 2) && z < j->high;                                    \
                if (!settle_##T(j, accept, z, &done, &rejected)) return false;                               \
            }                                                                                                \
        }                                                                                                    \
        return true;                                                                                         \
    }                                                                                                        \
    static bool draw_##T(bd_philox *stream, const job_##T *j)                                                \
    {                                                                                                        \
        const T far = (T)DEVIATIONS_FOR_NORMAL;                                                              \
        T root = SQRT(j->low * j->low + 4);                                                                  \
        T cutoff = 2 * EXP((T)0.5 + j->low * (j->low - root) / 4) / (j->low + root);                         \
        if ((j->low < -far && j->high >= 0) || (j->high > far && j->low <= 0))                               \
            return by_normal_##T(stream, j);                                                                 \
        return j->high - j->low < cutoff ? by_uniform_##T(stream, j) : by_exponential_##T(stream, j);        \
    }                                                                                                        \
    static bd_truncated_result truncated_##T(bd_philox *stream, const bd_truncated_normal *d, int64_t count, \
                                             T *out)                                                         \
    {                                                                                                        \
        T mean = (T)d->mean, deviation = (T)d->deviation, low = (T)d->low, high = (T)d->high;                \
        if (!(deviation > 0 && low < high && (isfinite(low) || isfinite(high))))                             \
            return BD_TRUNCATED_INVALID;                                                                     \
        if ((isinf(low) && low < 0) || high < mean) {                                                        \
            T other = low;                                                                                   \
            low = high;                                                                                      \
            high = other;                                                                                    \
            deviation = -deviation;                                                                          \
        }                                                                                                    \
        job_##T j = {.mean = mean,                                                                           \
                     .deviation = deviation,                                                                 \
                     .low = (low - mean) / deviation,                                                        \
                     .high = (high - mean) / deviation,                                                      \
                     .count = count,                                                                         \
                     .out = out};                                                                            \
        return draw_##T(stream, &j) ? BD_TRUNCATED_OK : BD_TRUNCATED_NO_SAMPLE;                              \
    }

TRUNCATED(float, 4, sqrtf, expf, logf)
TRUNCATED(double, 2, sqrt, exp, log)

bd_truncated_result bd_random_truncated_normal_f32(bd_philox *stream, const bd_truncated_normal *d,
                                                   int64_t count, float *out)
{
    return truncated_float(stream, d, count, out);
}

bd_truncated_result bd_random_truncated_normal_f64(bd_philox *stream, const bd_truncated_normal *d,
                                                   int64_t count, double *out)
{
    return truncated_double(stream, d, count, out);
}
