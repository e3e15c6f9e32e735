// Special functions of double arguments: incomplete gamma and beta functions, zeta, polygamma, Bessel
// functions, integrals.
#ifndef BD_KERNELS_SPECIAL_H
#define BD_KERNELS_SPECIAL_H

// The regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), for a > 0 and x >= 0, else
// NaN; and the derivative of P by a.
double bd_igamma(double a, double x);
double bd_igammac(double a, double x);
double bd_igamma_grad_a(double a, double x);

// The regularized incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1], else NaN.
double bd_betainc(double a, double b, double x);

// Hurwitz' zeta function: the sum over k >= 0 of (k + q)^-x. NaN for x < 1, and where a term is complex;
// infinite for x = 1 and where a term is.
double bd_zeta(double x, double q);

// Digamma, and its n-th derivative: NaN unless n is an integer not below 0.
double bd_digamma(double x);
double bd_polygamma(double n, double x);

// The modified Bessel functions I0 and I1 times e^-|x|.
double bd_bessel_i0e(double x);
double bd_bessel_i1e(double x);
// K0 and K1 times e^x, for x > 0; infinite at 0, NaN below.
double bd_bessel_k0e(double x);
double bd_bessel_k1e(double x);

// The inverse of the error function, for x in [-1, 1], and the quantile of the standard normal distribution,
// for p in [0, 1]; else NaN.
double bd_erfinv(double x);
double bd_ndtri(double p);

// Dawson's integral: e^-x^2 times the integral of e^t^2 from 0 to x.
double bd_dawsn(double x);
// The exponential integral Ei(x) for x > 0; -infinity at 0, NaN below.
double bd_expint(double x);
// Fresnel's integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x.
double bd_fresnel_cos(double x);
double bd_fresnel_sin(double x);
// Spence's function: the integral of ln(t) / (1 - t) from 1 to x. NaN below 0.
double bd_spence(double x);

// log(1 + x) of a complex number, exactly also near 0.
double _Complex bd_log1p_complex(double _Complex x);

#endif
