// Special functions of double arguments: incomplete gamma and beta functions, zeta, polygamma, scaled Bessel functions.
#ifndef BD_KERNELS_SPECIAL_H
#define BD_KERNELS_SPECIAL_H

// The regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), for a > 0 and x >= 0, else NaN; and the derivative of P
// by a.
double bd_igamma(double a, double x);
double bd_igammac(double a, double x);
double bd_igamma_grad_a(double a, double x);

// The regularized incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1], else NaN.
double bd_betainc(double a, double b, double x);

// Hurwitz' zeta function: the sum over k >= 0 of (k + q)^-x. NaN for x < 1, and where a term is complex; infinite for x = 1 and where
// a term is.
double bd_zeta(double x, double q);

// Digamma, and its n-th derivative: NaN unless n is an integer not below 0.
double bd_digamma(double x);
double bd_polygamma(double n, double x);

// The modified Bessel functions I0 and I1 times e^-|x|.
double bd_bessel_i0e(double x);
double bd_bessel_i1e(double x);

#endif
