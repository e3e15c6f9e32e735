// Mfcc: the mel-frequency cepstral coefficients of a spectrogram, used in speech recognition.
//
// Frequencies are summed in overlapping triangular bands of equal width on the mel scale; the coefficients
// are the cosine transform (DCT-II) of the logarithms of the sums.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <math.h>

#define BANDS_MAX 4096   // far more than hearing can resolve; the work grows with its square
#define BAND_LEAST 1e-12 // lower limit of a band before the logarithm is taken

typedef struct mfcc {
    double low, high; // limits of the frequencies used
    int64_t bands, coefficients;
} mfcc;

static braid_code mfcc_create(const braid_op *node, void *state, braid_status *st)
{
    mfcc *m = state;
    (void)st;
    *m = (mfcc){.low = (double)bd_node_attr_float(node, "lower_frequency_limit"),
                .high = (double)bd_node_attr_float(node, "upper_frequency_limit"),
                .bands = bd_node_attr_int(node, "filterbank_channel_count"),
                .coefficients = bd_node_attr_int(node, "dct_coefficient_count")};
    return BRAID_OK;
}

static braid_code mfcc_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t coefficients = bd_node_attr_int(c->node, "dct_coefficient_count");
    braid_code code = bd_shape_ctx_rank(c, 0, 3, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 0, st);
    const braid_shape *x = &c->inputs[0];
    bool is_known = x->rank == 3;
    c->outputs[0] = (braid_shape){.rank = 3,
                                  .dims = {is_known ? x->dims[0] : -1, is_known ? x->dims[1] : -1,
                                           coefficients < 0 ? -1 : coefficients}};
    return code;
}

static double mel_of(double frequency)
{
    return 1127 * log1p(frequency / 700);
}

// The frequencies [first, last] of a spectrogram: each adds a share to one band, and the remainder to the
// next band above.
typedef struct bank {
    int64_t first, last;
    double *shares; // [frequencies]
    int64_t *bands; // [frequencies], -1: below the lowest band
    double *sums;   // [bands]
    double *waves;  // [4 bands]: cos(pi i / (2 bands))
} bank;

static void bank_end(bank *b)
{
    bd_free(b->shares);
    bd_free(b->bands);
    bd_free(b->sums);
    bd_free(b->waves);
}

// Sets the frequencies [first, last] that are used. `last` = `count` means that frequencies up to the limit
// are missing.
static void place_limits(const mfcc *m, int64_t count, double spacing, bank *b)
{
    b->first = (int64_t)fmin(1.5 + m->low / spacing, (double)count); // never 0: frequency 0 is not sound
    b->last = (int64_t)fmin(m->high / spacing, (double)count);
}

static void fill_shares(const mfcc *m, double spacing, bank *b)
{
    double low = mel_of(m->low), width = (mel_of(m->high) - low) / (double)(m->bands + 1);
    int64_t above = 0; // the first band whose center is not below the frequency
    for (int64_t i = b->first; i <= b->last; i++) {
        double mel = mel_of((double)i * spacing);
        while (above < m->bands && low + width * (double)(above + 1) < mel)
            above++;
        b->bands[i] = above - 1;
        double center = low + width * (double)(above + 1),
               before = above > 0 ? low + width * (double)above : low;
        b->shares[i] = (center - mel) / (center - before);
    }
}

static bool bank_begin(bd_op_ctx *c, const mfcc *m, int64_t count, double spacing, bank *b)
{
    *b = (bank){.shares = bd_try_calloc((size_t)count, sizeof *b->shares),
                .bands = bd_try_calloc((size_t)count, sizeof *b->bands),
                .sums = bd_try_calloc((size_t)m->bands, sizeof *b->sums),
                .waves = bd_try_calloc((size_t)(4 * m->bands), sizeof *b->waves)};
    if (!b->shares || !b->bands || !b->sums || !b->waves) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when dividing %lld frequencies into %lld bands",
                   (long long)count, (long long)m->bands);
        bank_end(b);
        return false;
    }
    place_limits(m, count, spacing, b);
    if (b->last < count) fill_shares(m, spacing, b);
    for (int64_t i = 0; i < 4 * m->bands; i++)
        b->waves[i] = cos(M_PI * (double)i / (double)(2 * m->bands));
    return true;
}

static void sum_bands(const mfcc *m, const bank *b, const float *x)
{
    for (int64_t k = 0; k < m->bands; k++)
        b->sums[k] = 0;
    for (int64_t i = b->first; i <= b->last; i++) {
        double magnitude = sqrt((double)x[i]), share = magnitude * b->shares[i];
        int64_t band = b->bands[i];
        if (band >= 0) b->sums[band] += share;
        if (band + 1 < m->bands) b->sums[band + 1] += magnitude - share;
    }
    for (int64_t k = 0; k < m->bands; k++)
        b->sums[k] = log(b->sums[k] < BAND_LEAST ? BAND_LEAST : b->sums[k]);
}

static void transform(const mfcc *m, const bank *b, float *out)
{
    double norm = sqrt(2 / (double)m->bands);
    for (int64_t i = 0; i < m->coefficients; i++) {
        double sum = 0;
        for (int64_t j = 0; j < m->bands; j++)
            sum += norm * b->waves[i * (2 * j + 1) % (4 * m->bands)] * b->sums[j];
        out[i] = (float)sum;
    }
}

static bool check_inputs(bd_op_ctx *c)
{
    const mfcc *m = c->state;
    const braid_shape *x = &bd_input(c, 0)->shape, *rate = &bd_input(c, 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (x->rank != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "spectrogram must be 3-dimensional%s", bd_shape_str(x, text));
        return false;
    }
    if (rate->rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input sample_rate should be a scalar tensor, got %s instead.",
                   bd_shape_str(rate, text));
        return false;
    }
    int32_t hertz = *bd_tensor_i32(bd_input(c, 1));
    const char *why = m->bands < 1 || m->bands > BANDS_MAX ? "filterbank_channel_count must be from 1 to 4096"
                      : m->coefficients < 1 || m->coefficients > m->bands
                          ? "dct_coefficient_count must be from 1 to filterbank_channel_count"
                      : hertz <= 0          ? "the sample rate must be positive"
                      : x->dims[2] < 2      ? "there must be at least 2 frequencies"
                      : !(m->low >= 0)      ? "lower_frequency_limit must not be negative"
                      : !(m->high > m->low) ? "upper_frequency_limit must be above lower_frequency_limit"
                                            : NULL;
    if (why)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Mfcc initialization failed for channel count %lld and sample rate %d: %s",
                   (long long)x->dims[2], hertz, why);
    return !why;
}

static void mfcc_run(bd_op_ctx *c)
{
    const mfcc *m = c->state;
    if (!check_inputs(c)) return;
    const braid_tensor *x = bd_input(c, 0);
    int64_t count = x->shape.dims[2], total;
    braid_shape shape = {.rank = 3, .dims = {x->shape.dims[0], x->shape.dims[1], m->coefficients}};
    BD_STATUS(st);
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &shape);
    bank b;
    double spacing = 0.5 * (double)*bd_tensor_i32(bd_input(c, 1)) / (double)(count - 1);
    if (!y || total == 0 || !bank_begin(c, m, count, spacing, &b)) return;
    float *out = bd_tensor_f32(y);
    for (int64_t i = 0; i < total / m->coefficients && !bd_interrupted(); i++, out += m->coefficients) {
        // As in TensorFlow, the result is zeros if the frequencies do not reach the upper limit.
        if (b.last < count) sum_bands(m, &b, bd_tensor_f32(x) + i * count);
        transform(m, &b, out);
    }
    bank_end(&b);
}

BD_OP(Mfcc) = {
    .signature = "(spectrogram: float, sample_rate: int32) -> (output: float)",
    .attrs = "upper_frequency_limit:float=4000; lower_frequency_limit:float=20; "
             "filterbank_channel_count:int=40; dct_coefficient_count:int=13",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = mfcc_shape,
    .kernels = BD_KERNELS(
        {.flags = BD_KERNEL_EXPENSIVE, .state_size = sizeof(mfcc), .create = mfcc_create, .run = mfcc_run}),
    .doc = "The mel-frequency cepstral coefficients of a spectrogram [channels, windows, frequencies].",
    .deviation = "At most 4096 channels in the filter bank.",
};
