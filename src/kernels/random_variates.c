// Gamma and Poisson numbers, in double.
#include "kernels/random_variates.h"

#include "kernels/random_convert.h"

// Uniform (or normal) numbers of a stream two by two; of two the second is taken first.
typedef struct pairs {
    bd_philox *stream;
    double number[2];
    int left;
} pairs;

static double next_uniform(pairs *p)
{
    if (p->left == 0) {
        uint32_t x[4];
        bd_philox_next4(p->stream, x);
        p->number[0] = bd_uniform_f64(x[0], x[1]);
        p->number[1] = bd_uniform_f64(x[2], x[3]);
        p->left = 2;
    }
    return p->number[--p->left];
}

static double next_normal(pairs *p)
{
    if (p->left == 0) {
        uint32_t x[4];
        bd_philox_next4(p->stream, x);
        bd_normal_f64(x, p->number);
        p->left = 2;
    }
    return p->number[--p->left];
}

double bd_random_gamma(bd_philox stream, double alpha)
{
    pairs uniforms = {.stream = &stream}, normals = {.stream = &stream};
    if (!(alpha >= 0)) return NAN;
    if (alpha == 1) return -log(1.0 - next_uniform(&uniforms)); // an exponential distribution
    bool is_small = alpha < 1;                                  // then that of alpha + 1, scaled down
    double d = alpha + (is_small ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
    for (;;) {
        double x = next_normal(&normals), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = next_uniform(&uniforms);
        // The first condition spares most draws the logarithms of the second.
        if (u >= 1 - 0.0331 * (x * x) * (x * x) && log(u) >= 0.5 * x * x + d * (1 - v + log(v))) continue;
        return is_small ? d * v * pow(next_uniform(&uniforms), 1 / alpha) : d * v;
    }
}

static double small_poisson(pairs *uniforms, double rate)
{
    double limit = exp(-rate), product = 1;
    for (double count = 0;; count++) {
        product *= next_uniform(uniforms);
        if (product <= limit) return count;
    }
}

// Draws that are above what the type holds; where that many are, all are.
#define REFUSED_MAX 1000

double bd_random_poisson(bd_philox stream, double rate, double highest)
{
    pairs uniforms = {.stream = &stream};
    if (!isfinite(rate)) return NAN;
    if (rate < 10) return small_poisson(&uniforms, rate);
    // The names of the paper; G(u) = (2 a / (1/2 - |u|) + b) u + rate + 0.43 nearly inverts the distribution.
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), log_rate = log(rate);
    for (int refused = 0; refused < REFUSED_MAX;) {
        double u = next_uniform(&uniforms) - 0.5, v = next_uniform(&uniforms), rest = 0.5 - fabs(u);
        double k = floor((2 * a / rest + b) * u + rate + 0.43);
        if (k > highest) {
            refused++;
            continue;
        }
        if (rest >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
        if (k < 0 || (rest < 0.013 && v > rest)) continue;
        double s = log(v * inverse_alpha / (a / (rest * rest) + b));
        if (s <= -rate + k * log_rate - lgamma(k + 1)) return k;
    }
    return NAN;
}
