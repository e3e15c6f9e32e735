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

// The limit of rejected draws in a row; if that many are above the type's range, all are.
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

// The number of successful trials, by the gaps between successes.
static double few_successes(pairs *uniforms, double count, double chance)
{
    double trials = 0, log_failure = log1p(-chance);
    for (double successes = 0;; successes++) {
        trials += ceil(log(next_uniform(uniforms)) / log_failure);
        if (trials > count) return successes;
    }
}

// log(k!) beyond Stirling's formula for it.
static double stirling_rest(double k)
{
    static const double of[] = {
        0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
        0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return of[(int)k];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 + 1.0 / 1260 / square) / square) / (k + 1);
}

static double many_successes(pairs *uniforms, double count, double chance)
{
    // The names of the paper.
    double spq = sqrt(count * chance * (1 - chance)), b = 1.15 + 2.53 * spq;
    double a = -0.0873 + 0.0248 * b + 0.01 * chance, c = count * chance + 0.5;
    double alpha = (2.83 + 5.1 / b) * spq, r = chance / (1 - chance), m = floor((count + 1) * chance);
    for (;;) {
        double u = next_uniform(uniforms) - 0.5, v = next_uniform(uniforms), rest = 0.5 - fabs(u);
        double k = floor((2 * a / rest + b) * u + c);
        if (rest >= 0.07 && v <= 0.92 - 4.2 / b) return k;
        if (k < 0 || k > count) continue;
        double limit = (m + 0.5) * log((m + 1) / (r * (count - m + 1))) +
                       (count + 1) * log((count - m + 1) / (count - k + 1)) +
                       (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_rest(m) +
                       stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k);
        if (log(v * alpha / (a / (rest * rest) + b)) <= limit) return k;
    }
}

// The steps of the stream that belong to one output, by the method.
#define FEW_STEPS 42
#define MANY_STEPS 256

double bd_random_binomial(bd_philox stream, int64_t place, double count, double chance)
{
    if (isnan(count) || isnan(chance) || isinf(count)) return NAN;
    if (count <= 0 || chance <= 0) return 0;
    if (chance >= 1) return count;
    double rarer = chance <= 0.5 ? chance : 1 - chance;
    bool is_many = count * rarer >= 10;
    bd_philox_skip(&stream, (uint64_t)place * (is_many ? MANY_STEPS : FEW_STEPS));
    pairs uniforms = {.stream = &stream};
    double k = is_many ? many_successes(&uniforms, count, rarer) : few_successes(&uniforms, count, rarer);
    return chance <= 0.5 ? k : count - k;
}
