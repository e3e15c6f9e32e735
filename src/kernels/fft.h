// The discrete Fourier transform.
#ifndef BD_KERNELS_FFT_H
#define BD_KERNELS_FFT_H

#include <stdbool.h>
#include <stdint.h>

// e^(-2 pi i k / n) for k below n / 2, which transforms of n numbers need. `n` is a power of two.
void bd_fft_roots(int64_t n, double _Complex *roots); // [n / 2]

// Replaces x_j by the sum over k of x_k e^(-2 pi i j k / n). `n` is a power of two.
void bd_fft(int64_t n, const double _Complex *roots, double _Complex *x); // [n]

// A transform of any number of numbers: of powers of two by halves, of others as a convolution (Bluestein
// 1970). Immutable: several threads may run it at once.
typedef struct bd_fft_plan bd_fft_plan;

// NULL: there is not enough memory. `n` is 1 or more.
bd_fft_plan *bd_fft_plan_new(int64_t n);
void bd_fft_plan_free(bd_fft_plan *plan); // NULL is accepted
// How many numbers of memory a run needs for itself.
int64_t bd_fft_plan_work(const bd_fft_plan *plan);
// Replaces x_j by the sum over k of x_k e^(-+2 pi i j k / n): + when it is the inverse, without a division by
// n.
void bd_fft_plan_run(const bd_fft_plan *plan, bool is_inverse, double _Complex *x, double _Complex *work);

#endif
