// Derivatives of the incomplete gamma functions by their parameter: the terms of a series, or of a continued
// fraction, each differentiated along with it.
#include "kernels/gamma_grad.h"

#include "kernels/simd.h"

#include <float.h>
#include <math.h>

#define TERMS_MAX 2000

static double digamma(double x)
{
    double y;
    bd_kernels()->unary[BD_DIGAMMA][BD_F64](&x, &y, 1);
    return y;
}

// P(a, x) = x^a e^-x / gamma(a + 1) (1 + x / (a + 1) + x^2 / (a + 1)(a + 2) + ...), for small x.
static double by_series(double a, double x)
{
    double term = 1, sum = 1, term_slope = 0, sum_slope = 0, r = a;
    for (int i = 0; i < TERMS_MAX; i++) {
        r += 1;
        term_slope = term_slope * (x / r) - term * x / (r * r);
        term *= x / r;
        sum_slope += term_slope;
        sum += term;
        if (fabs(term_slope) <= DBL_EPSILON * fabs(sum_slope)) break;
    }
    return -(sum_slope / sum + log(x) - digamma(a + 1)) * sum * x / a;
}

// A value of the fraction's recursion and its derivative by a.
typedef struct slope {
    double value, slope;
} slope;

static slope next_convergent(slope last, slope before, double z, double y, double c)
{
    // z falls and y c falls with a: by 1 and by c.
    return (slope){last.value * z - before.value * y * c,
                   last.slope * z - last.value - before.slope * y * c + before.value * c};
}

// Q(a, x) = x^a e^-x / gamma(a) times a continued fraction (Abramowitz and Stegun 1964, 6.5.31), for large x.
static double by_fraction(double a, double x)
{
    double y = 1 - a, z = x + y + 1;
    slope p[2] = {{1, 0}, {x + 1, 0}}, q[2] = {{x, 0}, {z * x, -x}};
    double value = p[1].value / q[1].value, rate = (p[1].slope - value * q[1].slope) / q[1].value;
    for (int i = 1; i < TERMS_MAX; i++) {
        y += 1;
        z += 2;
        slope pn = next_convergent(p[1], p[0], z, y, i), qn = next_convergent(q[1], q[0], z, y, i);
        double last = rate;
        if (qn.value != 0) {
            value = pn.value / qn.value;
            rate = (pn.slope - value * qn.slope) / qn.value;
            if (fabs(rate - last) <= DBL_EPSILON) break;
        }
        double size = fabs(pn.value), scale = size > 0x1p52 ? 0x1p-52 : 1; // they grow without end
        p[0] = (slope){p[1].value * scale, p[1].slope * scale};
        q[0] = (slope){q[1].value * scale, q[1].slope * scale};
        p[1] = (slope){pn.value * scale, pn.slope * scale};
        q[1] = (slope){qn.value * scale, qn.slope * scale};
    }
    return (rate + value * (log(x) - digamma(a))) * x;
}

double bd_gamma_sample_grad(double alpha, double x)
{
    if (x == 0) return 0;
    if (!(x > 0) || !(alpha > 0)) return NAN;
    return x > 1 && x > alpha ? by_fraction(alpha, x) : by_series(alpha, x);
}
