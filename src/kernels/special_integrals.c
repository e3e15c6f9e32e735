// Special functions that are integrals without a closed form, and inverses of such: by series, continued
// fractions and sums that converge fast. Equations are those of the NIST Digital Library of Mathematical
// Functions (dlmf.nist.gov).
#include "kernels/special.h"

#include <complex.h>
#include <math.h>
#include <stdint.h>

#define EULER 0.57721566490153286061
#define TWO_OVER_ROOT_PI 1.12837916709551257390

// ---- Inverse error function ----

// y >= 0 of which erfc is q, for q in (0, 1]: a start that is right to three digits (26.2.23 of Abramowitz
// and Stegun), then Halley's steps, each of which makes three times as many digits right.
static double inverse_erfc(double q)
{
    double t = sqrt(-2 * log(q / 2));
    double y = (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                        (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))) /
               M_SQRT2;
    for (int i = 0; i < 3; i++) {
        double error = erfc(y) - q;
        y += error / (TWO_OVER_ROOT_PI * exp(-y * y) - y * error);
    }
    return y;
}

double bd_erfinv(double x)
{
    double a = fabs(x);
    if (!(a < 1)) return a == 1 ? x * (double)INFINITY : NAN;
    if (a > 0.5) return copysign(inverse_erfc(1 - a), x);
    double y = a / TWO_OVER_ROOT_PI; // the slope at 0
    for (int i = 0; i < 4; i++) {
        double error = erf(y) - a;
        y -= error / (TWO_OVER_ROOT_PI * exp(-y * y) + y * error);
    }
    return copysign(y, x);
}

double bd_ndtri(double p)
{
    if (!(p > 0 && p < 1)) return p == 0 ? -(double)INFINITY : p == 1 ? (double)INFINITY : NAN;
    return p < 0.5 ? -M_SQRT2 * inverse_erfc(2 * p) : M_SQRT2 * bd_erfinv(2 * p - 1);
}

// ---- Dawson's integral ----

// Rybicki's sum over odd n of e^-(x - nh)^2 / n, over the n whose terms count (Dawson's Integral and the
// Sampling Theorem, Computers in Physics 3, 1989).
static double dawson_sum(double x)
{
    const double h = 0.2;
    int64_t middle = 2 * llround(x / (2 * h)); // even
    double sum = 0;
    for (int64_t n = middle - 35; n <= middle + 35; n += 2) {
        double d = x - (double)n * h;
        sum += exp(-d * d) / (double)n;
    }
    return sum / sqrt(M_PI);
}

double bd_dawsn(double x)
{
    double a = fabs(x), s = x * x;
    if (a < 0.2) { // 7.6.2, with the factor e^-s multiplied out
        double sum = 0, term = x;
        for (int k = 0; k < 12; k++) {
            sum += term;
            term *= -2 * s / (2 * k + 3);
        }
        return sum;
    }
    if (a <= 25) return copysign(dawson_sum(a), x);
    double t = 1 / (2 * s); // 7.12.1 at the imaginary axis
    return (1 + t * (1 + 3 * t * (1 + 5 * t * (1 + 7 * t)))) / (2 * x);
}

// ---- Exponential integral ----

double bd_expint(double x)
{
    if (!(x > 0)) return x == 0 ? -(double)INFINITY : NAN;
    if (isinf(x)) return x;
    double sum = 0, term = 1;
    if (x < 40) { // 6.6.1
        for (int k = 1; k < 200; k++) {
            term *= x / k;
            sum += term / k;
        }
        return EULER + log(x) + sum;
    }
    for (int k = 1; k <= (int)fmin(x, 60); k++) { // 6.12.2, up to its least term
        sum += term;
        term *= k / x;
    }
    return x > 700 ? exp(x - log(x)) * sum : exp(x) / x * sum;
}

// ---- Fresnel integrals ----

// C(x) + i S(x) for x >= 0.
static double complex fresnel(double x)
{
    if (x < 1.8) { // the series of the integral of e^(i pi t^2 / 2)
        double complex sum = 0, term = x, step = I * M_PI_2 * x * x;
        for (int k = 0; k < 60; k++) {
            sum += term / (2 * k + 1);
            term *= step / (k + 1);
        }
        return sum;
    }
    // 7.5.8 with the continued fraction 7.9.1 of erfc, from behind.
    double complex z = sqrt(M_PI) / 2 * (1 - I) * x, t = z;
    for (int k = 120; k > 0; k--)
        t = z + k / 2.0 / t;
    double turn = M_PI_2 * fmod(x * x, 4);
    double complex rest = (cos(turn) + I * sin(turn)) / (t * sqrt(M_PI));
    return (1 + I) / 2 * (1 - rest);
}

// At infinity both are 1/2, which larger numbers have in all their digits.
#define FRESNEL_END 1e16

double bd_fresnel_cos(double x)
{
    if (isnan(x)) return x;
    return copysign(fabs(x) > FRESNEL_END ? 0.5 : creal(fresnel(fabs(x))), x);
}

double bd_fresnel_sin(double x)
{
    if (isnan(x)) return x;
    return copysign(fabs(x) > FRESNEL_END ? 0.5 : cimag(fresnel(fabs(x))), x);
}

// ---- Spence's function ----

// The dilogarithm of y in [-1/2, 1/2] (25.12.1).
static double dilogarithm(double y)
{
    double sum = 0, power = 1;
    for (int k = 1; k < 60; k++) {
        power *= y;
        sum += power / ((double)k * k);
    }
    return sum;
}

double bd_spence(double x)
{
    if (!(x >= 0)) return NAN;
    if (x == 0) return M_PI * M_PI / 6;
    if (isinf(x)) return -x;
    if (x > 1.5) { // 25.12.4, with 1 - 1/x for its argument
        double l = log(x);
        return -l * l / 2 - bd_spence(1 / x);
    }
    if (x < 0.5) return M_PI * M_PI / 6 - log(x) * log1p(-x) - dilogarithm(x); // 25.12.6
    return dilogarithm(1 - x);
}

// ---- Bessel functions ----

// K_v(x) e^x: the integral 10.32.9 by the trapezoidal rule, whose error falls exponentially with the inverse
// step.
static double bessel_kve(int v, double x)
{
    if (!(x > 0)) return x == 0 ? (double)INFINITY : NAN;
    if (isinf(x)) return 0;
    const double h = fmin(0.125, 0.7 / sqrt(x)); // the integrand is as wide as 1 / sqrt(x)
    double sum = 0.5;
    for (int k = 1;; k++) {
        double t = k * h, s = sinh(t / 2), power = 2 * x * s * s;
        if (power > 745) return sum * h;
        sum += exp(-power) * (v ? cosh(t) : 1);
    }
}

double bd_bessel_k0e(double x)
{
    return bessel_kve(0, x);
}

double bd_bessel_k1e(double x)
{
    return bessel_kve(1, x);
}
