// Histograms for summaries.
#include "io/histogram.h"

#include "base/alloc.h"
#include "base/half.h"
#include "base/thread.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/summary.pb-c.h"
#include <float.h>
#include <math.h>

// ---- Buckets ----

enum {
    POSITIVE = 774, // limits from 1e-12 up to below 1e20, a tenth apart
    LIMITS = 2 * (POSITIVE + 1) + 1
};

static double limits[LIMITS]; // set once
static bd_once limits_once = BD_ONCE_INIT;

static void make_limits(void *arg)
{
    (void)arg;
    size_t middle = LIMITS / 2;
    double limit = 1.0e-12;
    for (size_t i = 1; i <= POSITIVE; i++) {
        limits[middle + i] = limit;
        limits[middle - i] = -limit;
        limit *= 1.1; // just so: rounding decides the limits
    }
    BD_ASSERT(limit >= 1.0e20);
    limits[LIMITS - 1] = DBL_MAX;
    limits[0] = -DBL_MAX;
}

const double *bd_histogram_limits(size_t *count)
{
    bd_once_run(&limits_once, make_limits, NULL);
    *count = LIMITS;
    return limits;
}

// The first bucket whose limit is above the value; the last one also holds the largest double.
static size_t bucket_of(double value)
{
    size_t low = 0, high = LIMITS - 1;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (limits[mid] > value) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return low;
}

void bd_histogram_init(bd_histogram *h)
{
    size_t count;
    bd_histogram_limits(&count);
    *h = (bd_histogram){.min = DBL_MAX, .max = -DBL_MAX, .counts = bd_calloc(count, sizeof *h->counts)};
}

void bd_histogram_fini(bd_histogram *h)
{
    bd_free(h->counts);
    h->counts = NULL;
}

// ---- Adding ----

void bd_histogram_add_times(bd_histogram *h, double value, int64_t times)
{
    if (times <= 0) return;
    const double n = (double)times;
    h->counts[bucket_of(value)] += n;
    if (value < h->min) h->min = value;
    if (value > h->max) h->max = value;
    h->num += n;
    h->sum += value * n;
    h->sum_squares += value * value * n;
}

void bd_histogram_add(bd_histogram *h, double value)
{
    bd_histogram_add_times(h, value, 1);
}

bool bd_real_element(const braid_tensor *t, int64_t i, double *value)
{
    const void *data = t->data;
    switch (t->dtype) {
    case BRAID_FLOAT: *value = (double)((const float *)data)[i]; return true;
    case BRAID_DOUBLE: *value = ((const double *)data)[i]; return true;
    case BRAID_HALF: *value = (double)bd_float_of_half(((const uint16_t *)data)[i]); return true;
    case BRAID_BFLOAT16: *value = (double)bd_float_of_bfloat16(((const uint16_t *)data)[i]); return true;
    case BRAID_INT8: *value = ((const int8_t *)data)[i]; return true;
    case BRAID_UINT8: *value = ((const uint8_t *)data)[i]; return true;
    case BRAID_INT16: *value = ((const int16_t *)data)[i]; return true;
    case BRAID_UINT16: *value = ((const uint16_t *)data)[i]; return true;
    case BRAID_INT32: *value = ((const int32_t *)data)[i]; return true;
    case BRAID_UINT32: *value = ((const uint32_t *)data)[i]; return true;
    case BRAID_INT64: *value = (double)((const int64_t *)data)[i]; return true;
    case BRAID_UINT64: *value = (double)((const uint64_t *)data)[i]; return true;
    default: return false;
    }
}

braid_code bd_histogram_add_tensor(bd_histogram *h, const braid_tensor *t, braid_status *st)
{
    int64_t count = bd_tensor_count(t);
    for (int64_t i = 0; i < count; i++) {
        double value;
        if (!bd_real_element(t, i, &value)) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "a histogram of elements of type %s",
                           braid_dtype_name(t->dtype));
        }
        if (!isfinite(value)) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s in summary histogram",
                           isnan(value) ? "Nan" : "Infinity");
        }
        bd_histogram_add(h, value);
    }
    return BRAID_OK;
}

// ---- Writing ----

void bd_histogram_write(const bd_histogram *h, bd_wire_writer *out)
{
    Tensorflow__HistogramProto proto = TENSORFLOW__HISTOGRAM_PROTO__INIT;
    double *ends = bd_malloc(LIMITS * sizeof *ends), *counts = bd_malloc(LIMITS * sizeof *counts);
    size_t n = 0;
    for (size_t i = 0; i < LIMITS; i++) {
        bool joins = n > 0 && counts[n - 1] == 0 && h->counts[i] == 0; // the empty one before it
        if (!joins) n++;
        ends[n - 1] = limits[i];
        counts[n - 1] = h->counts[i];
    }
    proto.min = h->min;
    proto.max = h->max;
    proto.num = h->num;
    proto.sum = h->sum;
    proto.sum_squares = h->sum_squares;
    proto.n_bucket_limit = proto.n_bucket = n;
    proto.bucket_limit = ends;
    proto.bucket = counts;
    bd_proto_pack(&proto.base, out);
    bd_free(ends);
    bd_free(counts);
}
