// Summaries of quantiles as messages, and the boundaries of buckets that they give.
#include "ops/gradient_trees/quantile_summary.h"
#include "ops/gradient_trees/ensemble.h"
#include <string.h>

static void emit_entry(bd_message_out *out, const void *arg)
{
    const bd_quantile_entry *e = arg;
    bd_gbt_emit_float(out, 1, e->value);
    bd_gbt_emit_float(out, 2, e->weight);
    bd_gbt_emit_float(out, 3, e->min_rank);
    bd_gbt_emit_float(out, 4, e->max_rank);
}

void bd_gbt_emit_summary(bd_message_out *out, const void *arg)
{
    const bd_quantile_summary *s = arg;
    for (size_t i = 0; i < s->len; i++)
        bd_emit_message(out, 1, emit_entry, &s->items[i]);
}

braid_code bd_gbt_make_boundaries(bd_quantile_summary *s, int64_t quantiles, bool is_quantiles,
                                  float **values, int64_t *count, braid_status *st)
{
    const int64_t parts = quantiles > 2 ? quantiles : 2;
    const size_t room = is_quantiles ? (size_t)parts + 1 : s->len + 1;
    *values = bd_try_malloc(room * sizeof **values);
    if (!*values) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %zu boundaries", room);
    *count =
        is_quantiles ? bd_quantile_values(s, parts, *values) : bd_quantile_boundaries(s, quantiles, *values);
    return BRAID_OK;
}

void bd_gbt_output_floats(bd_op_ctx *c, int i, const float *values, int64_t count)
{
    const braid_shape shape = bd_shape1(count);
    const braid_tensor *y = bd_output(c, i, BRAID_FLOAT, &shape);
    if (y && count > 0) memcpy(bd_tensor_f32(y), values, (size_t)count * sizeof *values);
}
