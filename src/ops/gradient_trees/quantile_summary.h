// Summaries of quantiles of tf.contrib.boosted_trees: as messages, and the boundaries of buckets that they
// give.
#ifndef BD_OPS_GRADIENT_TREES_QUANTILE_SUMMARY_H
#define BD_OPS_GRADIENT_TREES_QUANTILE_SUMMARY_H

#include "op/kernel.h"
#include "ops/boosted_trees/quantile_sketch.h"
#include "ops/common/message_out.h"

// Writes a bd_quantile_summary as QuantileSummaryState.
void bd_gbt_emit_summary(bd_message_out *out, const void *summary);

// The boundaries of about `quantiles` buckets, or with is_quantiles the values at as many equal parts of the
// weight, of a summary, which it overwrites. *values is the caller's, after an error NULL.
// ResourceExhausted: no memory.
braid_code bd_gbt_make_boundaries(bd_quantile_summary *s, int64_t quantiles, bool is_quantiles,
                                  float **values, int64_t *count, braid_status *st);

// Makes output `i` a vector of float.
void bd_gbt_output_floats(bd_op_ctx *c, int i, const float *values, int64_t count);

#endif
