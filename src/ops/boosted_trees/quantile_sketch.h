// Approximate quantiles of a stream of weighted values.
//
// A summary is a sorted list of values with bounds of their ranks. Summaries are merged without error, and
// compressed to about b entries with an error of at most 1/b of the weight. A stream keeps summaries in
// levels, each of about twice as many values as the one below, so that a value is compressed a logarithmic
// number of times. Chen and Guestrin, "XGBoost", arXiv 1603.02754, section 3.3 and appendix A; Zhang and Wang,
// "A Fast Algorithm for Approximate Quantiles in High Speed Data Streams", SSDBM 2007.
#ifndef BD_OPS_BOOSTED_TREES_QUANTILE_SKETCH_H
#define BD_OPS_BOOSTED_TREES_QUANTILE_SKETCH_H

#include "base/array.h"
#include "base/status.h"

typedef struct bd_quantile_entry {
    float value, weight;
    float min_rank, max_rank; // of the weight below the value; max_rank has the value's own
} bd_quantile_entry;

typedef BD_ARRAY(bd_quantile_entry) bd_quantile_summary;

typedef struct bd_weighted_value {
    float value, weight;
} bd_weighted_value;

typedef struct bd_quantile_stream {
    double epsilon;
    int64_t block_size; // entries of a compressed summary
    int64_t buffer_max; // values that are kept before they become a summary
    BD_ARRAY(bd_weighted_value) buffer;
    BD_ARRAY(bd_quantile_summary) levels;
    bool has_failed; // memory was short: the stream is not what was added
} bd_quantile_stream;

// Begins a stream of about `max_elements` values at most with an error of epsilon. InvalidArgument unless
// epsilon is in (0, 1) and max_elements is positive.
braid_code bd_quantile_stream_init(bd_quantile_stream *s, double epsilon, int64_t max_elements,
                                   braid_status *st);
void bd_quantile_stream_fini(bd_quantile_stream *s);

// Adds a value; none of a weight that is not positive.
void bd_quantile_stream_add(bd_quantile_stream *s, float value, float weight);
// Adds the values of a summary.
void bd_quantile_stream_add_summary(bd_quantile_stream *s, const bd_quantile_entry *entries, int64_t count);
// Moves the summary of all values to `out`, which is empty before. The stream is empty afterwards.
// ResourceExhausted: memory was short, since the stream began.
braid_code bd_quantile_stream_finish(bd_quantile_stream *s, bd_quantile_summary *out, braid_status *st);

// Values that are the ends of about `count` ranges of the same weight, each once. Overwrites `s`, whose first
// values they become. Returns their number.
int64_t bd_quantile_boundaries(bd_quantile_summary *s, int64_t count, float *values);
// The values at ranks 0, 1/n ... 1 of the weight: n + 1 values, none for an empty summary.
int64_t bd_quantile_values(const bd_quantile_summary *s, int64_t n, float *values);

#endif
