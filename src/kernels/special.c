// Special functions, each by the series, continued fraction or asymptotic expansion that converges where it
// is asked for.
//
// Formulas are numbered as in the NIST Digital Library of Mathematical Functions (https://dlmf.nist.gov).
#include "kernels/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

// Below this a further term changes no bit.
#define SMALL (DBL_EPSILON / 8)
// More terms than any series needs for its arguments; a limit for unreasonable arguments.
#define TERMS_MAX 20000

// The logarithm of |Gamma(x)|, without the sign that lgamma leaves in a variable that all threads share.
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

// ---- The incomplete gamma functions ----

// A number and its derivative by a, for IgammaGradA: sums, products and quotients compute both.
typedef struct dual {
    double value, slope;
} dual;

// x^a e^-x / Gamma(a), by way of logarithms: the factors alone would overflow.
static dual gamma_factor(double a, double x)
{
    double value = exp(a * log(x) - x - log_gamma(a));
    return (dual){value, value * (log(x) - bd_digamma(a))};
}

// P(a, x) by 8.11.4: x^a e^-x / Gamma(a) times the sum of x^k / (a (a + 1) .. (a + k)). For x up to about a.
static dual lower_by_series(double a, double x)
{
    dual term = {1 / a, -1 / (a * a)}, sum = term;
    for (int k = 1; k < TERMS_MAX; k++) {
        double ratio = x / (a + k);
        term = (dual){term.value * ratio, term.slope * ratio - term.value * ratio / (a + k)};
        sum = (dual){sum.value + term.value, sum.slope + term.slope};
        if (fabs(term.value) <= SMALL * fabs(sum.value) && fabs(term.slope) <= SMALL * fabs(sum.slope)) break;
    }
    dual f = gamma_factor(a, x);
    return (dual){f.value * sum.value, f.slope * sum.value + f.value * sum.slope};
}

// Q(a, x) by the continued fraction 8.9.2, evaluated by Lentz' method: for x from about a on.
static dual upper_by_fraction(double a, double x)
{
    // b_n = x + 2n + 1 - a, a_n = n (a - n): the fraction is 1 / (b_0 + a_1 / (b_1 + a_2 / (b_2 + ..)).
    const double tiny = 1e-300;
    dual b = {x + 1 - a, -1};
    dual c = {1 / tiny, 0};
    dual d = {1 / b.value, -b.slope / (b.value * b.value)};
    dual h = d;
    for (int n = 1; n < TERMS_MAX; n++) {
        double an = n * (a - n), an_slope = n;
        b.value += 2;
        dual bottom = {an * d.value + b.value, an_slope * d.value + an * d.slope + b.slope};
        if (fabs(bottom.value) < tiny) bottom.value = tiny;
        d = (dual){1 / bottom.value, -bottom.slope / (bottom.value * bottom.value)};
        dual top = {b.value + an / c.value,
                    b.slope + an_slope / c.value - an * c.slope / (c.value * c.value)};
        if (fabs(top.value) < tiny) top.value = tiny;
        c = top;
        dual step = {c.value * d.value, c.slope * d.value + c.value * d.slope};
        h = (dual){h.value * step.value, h.slope * step.value + h.value * step.slope};
        if (fabs(step.value - 1) <= SMALL && fabs(step.slope) <= SMALL) break;
    }
    dual f = gamma_factor(a, x);
    return (dual){f.value * h.value, f.slope * h.value + f.value * h.slope};
}

static bool in_gamma_domain(double a, double x)
{
    return a > 0 && x >= 0 && !isinf(a); // false for NaN
}

static bool use_series(double a, double x)
{
    return x <= 1 || x <= a;
}

double bd_igamma(double a, double x)
{
    if (!in_gamma_domain(a, x)) return NAN;
    if (x == 0) return 0;
    if (isinf(x)) return 1;
    return use_series(a, x) ? lower_by_series(a, x).value : 1 - upper_by_fraction(a, x).value;
}

double bd_igammac(double a, double x)
{
    if (!in_gamma_domain(a, x)) return NAN;
    if (x == 0) return 1;
    if (isinf(x)) return 0;
    return use_series(a, x) ? 1 - lower_by_series(a, x).value : upper_by_fraction(a, x).value;
}

double bd_igamma_grad_a(double a, double x)
{
    if (!in_gamma_domain(a, x)) return NAN;
    if (x == 0 || isinf(x)) return 0;
    return use_series(a, x) ? lower_by_series(a, x).slope : -upper_by_fraction(a, x).slope;
}

// ---- The incomplete beta function ----

// The continued fraction 8.17.22, by Lentz' method; it converges fast for x < (a + 1) / (a + b + 2).
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    if (fabs(d) < tiny) d = tiny;
    d = 1 / d;
    double h = d;
    for (int m = 1; m < TERMS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (int half = 0; half < 2; half++) {
            double numerator = half == 0 ? even : odd;
            d = 1 + numerator * d;
            c = 1 + numerator / c;
            if (fabs(d) < tiny) d = tiny;
            if (fabs(c) < tiny) c = tiny;
            d = 1 / d;
            step = c * d;
            h *= step;
        }
        if (fabs(step - 1) <= SMALL) break;
    }
    return h;
}

double bd_betainc(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b)) return NAN;
    if (x == 0 || x == 1) return x;
    double factor = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return factor * beta_fraction(a, b, x) / a;
    return 1 - factor * beta_fraction(b, a, 1 - x) / b; // 8.17.4
}

// ---- Zeta, polygamma ----

// B(2k) / (2k)! for k = 1, 2, ..
static const double bernoulli_over_factorial[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
    77683.0 / 14101100039391805440000.0,
    -236364091.0 / 1693824136731743669452800000.0,
};

#define BERNOULLI_COUNT ((int)(sizeof bernoulli_over_factorial / sizeof *bernoulli_over_factorial))

double bd_zeta(double x, double q)
{
    if (isnan(x) || isnan(q) || x < 1) return NAN;
    if (x == 1) return HUGE_VAL;
    if (q <= 0) {
        if (q == floor(q)) return HUGE_VAL;
        if (x != floor(x)) return NAN; // a power of a negative number
    }
    // Euler and Maclaurin's formula 25.11.28, from a term on from which it converges fast.
    double sum = 0, at = q;
    for (int k = 0; k < TERMS_MAX && (k < 10 || at <= 10); k++, at += 1) {
        double term = pow(at, -x);
        sum += term;
        if (at > 0 && term <= SMALL * fabs(sum)) return sum;
    }
    double power = pow(at, -x);
    sum += power * at / (x - 1) + power / 2;
    double factor = x; // x (x + 1) .. (x + 2k - 2)
    power /= at;
    for (int k = 0; k < BERNOULLI_COUNT; k++) {
        double term = bernoulli_over_factorial[k] * factor * power;
        sum += term;
        if (fabs(term) <= SMALL * fabs(sum)) break;
        factor *= (x + 2 * k + 1) * (x + 2 * k + 2);
        power /= at * at;
    }
    return sum;
}

double bd_digamma(double x)
{
    if (isnan(x) || (x <= 0 && x == floor(x))) return NAN;
    if (isinf(x)) return x > 0 ? x : NAN;
    if (x < 0) return bd_digamma(1 - x) - M_PI / tan(M_PI * (x - floor(x))); // 5.5.4
    double shift = 0;
    while (x < 10) { // 5.5.2
        shift -= 1 / x;
        x += 1;
    }
    // 5.11.2, with B(2k) / 2k = (2k - 1)! times the numbers above.
    double sum = log(x) - 0.5 / x, factorial = 1, square = 1 / (x * x), power = square;
    for (int k = 0; k < BERNOULLI_COUNT; k++) {
        double term = bernoulli_over_factorial[k] * factorial * power;
        sum -= term;
        if (fabs(term) <= SMALL * fabs(sum)) break;
        factorial *= (2 * k + 2) * (2 * k + 3);
        power *= square;
    }
    return sum + shift;
}

double bd_polygamma(double n, double x)
{
    if (!(n >= 0) || n != floor(n)) return NAN;
    if (n == 0) return bd_digamma(x);
    double sign = fmod(n, 2) == 1 ? 1 : -1;
    return sign * exp(log_gamma(n + 1)) * bd_zeta(n + 1, x); // 25.11.12
}

// ---- Bessel functions ----

// I_v(x) e^-x for x from here on by 10.40.1, before by the power series 10.25.2, all of whose terms are
// positive.
#define ASYMPTOTIC_FROM 30

static double bessel_ive(int v, double x)
{
    double sum = 1, term = 1;
    if (x < ASYMPTOTIC_FROM) {
        for (int k = 1; term > SMALL * sum; k++) {
            term *= x * x / 4 / ((double)k * (k + v));
            sum += term;
        }
        return sum * exp(-x) * (v == 1 ? x / 2 : 1);
    }
    for (int k = 1; k < ASYMPTOTIC_FROM && fabs(term) > SMALL; k++) {
        term *= -(4.0 * v * v - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8.0 * x);
        sum += term;
    }
    return sum / sqrt(2 * M_PI * x);
}

double bd_bessel_i0e(double x)
{
    return isnan(x) ? x : bessel_ive(0, fabs(x));
}

double bd_bessel_i1e(double x)
{
    return isnan(x) ? x : copysign(bessel_ive(1, fabs(x)), x);
}
