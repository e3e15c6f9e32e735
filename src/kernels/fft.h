// The discrete Fourier transform.
#ifndef BD_KERNELS_FFT_H
#define BD_KERNELS_FFT_H

#include <stdint.h>

// e^(-2 pi i k / n) for k below n / 2, which transforms of n numbers need. `n` is a power of two.
void bd_fft_roots(int64_t n, double _Complex *roots); // [n / 2]

// Replaces x_j by the sum over k of x_k e^(-2 pi i j k / n). `n` is a power of two.
void bd_fft(int64_t n, const double _Complex *roots, double _Complex *x); // [n]

#endif
