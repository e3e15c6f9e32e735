// The discrete Fourier transform of 2^k numbers, by halves (Cooley and Tukey).
#include "kernels/fft.h"

#include "base/complex.h"
#include "base/interrupt.h"

#include <math.h>

void bd_fft_roots(int64_t n, double _Complex *roots)
{
    for (int64_t k = 0; k < n / 2; k++) {
        double angle = -2 * M_PI * (double)k / (double)n;
        roots[k] = CMPLX(cos(angle), sin(angle));
    }
}

// Moves each number to the position with the reversed digits: the order of recursive halves.
static void reverse_digits(int64_t n, double _Complex *x)
{
    int64_t other = 0;
    for (int64_t i = 1; i < n; i++) {
        int64_t digit = n / 2;
        for (; other & digit; digit /= 2)
            other ^= digit;
        other ^= digit;
        if (i >= other) continue;
        double _Complex kept = x[i];
        x[i] = x[other];
        x[other] = kept;
    }
}

void bd_fft(int64_t n, const double _Complex *roots, double _Complex *x)
{
    reverse_digits(n, x);
    for (int64_t half = 1; half < n; half *= 2) {
        for (int64_t at = 0; at < n; at += 2 * half) {
            if (at % BD_INTERRUPT_BLOCK == 0 && bd_interrupted()) return;
            for (int64_t k = 0; k < half; k++) {
                double _Complex even = x[at + k], odd = x[at + half + k] * roots[k * (n / (2 * half))];
                x[at + k] = even + odd;
                x[at + half + k] = even - odd;
            }
        }
    }
}
