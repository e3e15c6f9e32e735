// The discrete Fourier transform: of 2^k numbers by halves (Cooley and Tukey), of others by Bluestein's
// convolution.
#include "kernels/fft.h"

#include "base/alloc.h"
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

// ---- Any length ----

// With jk = (j^2 + k^2 - (j - k)^2) / 2 a transform is a convolution with the chirp e^(i pi k^2 / n), which
// transforms of `size` numbers, a power of two, compute.
struct bd_fft_plan {
    int64_t n, size;                           // equal when n is a power of two
    double _Complex *roots, *chirp, *spectrum; // [size / 2]; e^(-i pi k^2 / n) [n]; of its conjugate [size]
};

static bool chirp_init(bd_fft_plan *p)
{
    p->chirp = bd_try_calloc((size_t)p->n, sizeof *p->chirp);
    p->spectrum = bd_try_calloc((size_t)p->size, sizeof *p->spectrum);
    if (!p->chirp || !p->spectrum) return false;
    int64_t square = 0; // k^2 modulo 2n
    for (int64_t k = 0; k < p->n; k++) {
        double angle = -M_PI * (double)square / (double)p->n;
        p->chirp[k] = CMPLX(cos(angle), sin(angle));
        square = (square + 2 * k + 1) % (2 * p->n);
    }
    for (int64_t k = 0; k < p->n; k++)
        p->spectrum[k] = p->spectrum[(p->size - k) % p->size] = conj(p->chirp[k]);
    bd_fft(p->size, p->roots, p->spectrum);
    return true;
}

bd_fft_plan *bd_fft_plan_new(int64_t n)
{
    bd_fft_plan *p = bd_try_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->n = n;
    for (p->size = 1; p->size < n; p->size *= 2)
        ;
    bool is_power = p->size == n;
    if (!is_power) p->size *= 2;
    p->roots = bd_try_calloc((size_t)p->size / 2 + 1, sizeof *p->roots);
    bool is_good = p->roots != NULL;
    if (is_good) bd_fft_roots(p->size, p->roots);
    if (is_good && !is_power) is_good = chirp_init(p);
    if (is_good) return p;
    bd_fft_plan_free(p);
    return NULL;
}

void bd_fft_plan_free(bd_fft_plan *p)
{
    if (!p) return;
    bd_free(p->roots);
    bd_free(p->chirp);
    bd_free(p->spectrum);
    bd_free(p);
}

int64_t bd_fft_plan_work(const bd_fft_plan *p)
{
    return p->chirp ? p->size : 0;
}

static void conjugate(int64_t n, double _Complex *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = conj(x[i]);
}

static void convolve(const bd_fft_plan *p, double _Complex *x, double _Complex *work)
{
    for (int64_t k = 0; k < p->size; k++)
        work[k] = k < p->n ? x[k] * p->chirp[k] : 0;
    bd_fft(p->size, p->roots, work);
    for (int64_t k = 0; k < p->size; k++)
        work[k] = conj(work[k] * p->spectrum[k]); // the inverse transform is that of the conjugates
    bd_fft(p->size, p->roots, work);
    for (int64_t k = 0; k < p->n; k++)
        x[k] = conj(work[k]) / (double)p->size * p->chirp[k];
}

void bd_fft_plan_run(const bd_fft_plan *p, bool is_inverse, double _Complex *x, double _Complex *work)
{
    if (is_inverse) conjugate(p->n, x);
    if (p->chirp) {
        convolve(p, x, work);
    } else {
        bd_fft(p->n, p->roots, x);
    }
    if (is_inverse) conjugate(p->n, x);
}
