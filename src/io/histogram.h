// Histograms with TensorFlow's default buckets, which grow by a tenth from 1e-12 to 1e20, on both sides of
// zero.
#ifndef BD_IO_HISTOGRAM_H
#define BD_IO_HISTOGRAM_H

#include "base/wire.h"
#include "tensor/tensor.h"

typedef struct bd_histogram {
    double min, max, num, sum, sum_squares;
    double *counts; // owned; one for each limit: of the values below it, and not below the one before
} bd_histogram;

void bd_histogram_init(bd_histogram *h); // of no values
void bd_histogram_fini(bd_histogram *h);

// The upper limits of the buckets, increasing; the last is the largest double. They stay.
const double *bd_histogram_limits(size_t *count);

// Adds a finite value.
void bd_histogram_add(bd_histogram *h, double value);
// Adds it so many times.
void bd_histogram_add_times(bd_histogram *h, double value, int64_t times);

// The value of element `i` of a tensor of a real type; false for other types.
bool bd_real_element(const braid_tensor *t, int64_t i, double *value);

// Adds all elements of a tensor of a real type. InvalidArgument for NaN, infinity ("Nan in summary
// histogram") and other types; the elements before are added.
braid_code bd_histogram_add_tensor(bd_histogram *h, const braid_tensor *t, braid_status *st);

// Appends it as a HistogramProto, without an enclosing tag and length; runs of empty buckets are one.
void bd_histogram_write(const bd_histogram *h, bd_wire_writer *out);

#endif
