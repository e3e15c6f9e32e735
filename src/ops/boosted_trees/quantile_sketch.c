// Merging and compressing of quantile summaries, and the levels of a stream.
#include "ops/boosted_trees/quantile_sketch.h"

#include "base/check.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// NaN is behind all numbers.
static bool is_less(float a, float b)
{
    return a < b || (isnan(b) && !isnan(a));
}

static bool reserve(bd_quantile_stream *s, bd_quantile_summary *summary, size_t count)
{
    if (count <= summary->cap) return true;
    bd_quantile_entry *items =
        count > SIZE_MAX / sizeof *items ? NULL : bd_try_realloc(summary->items, count * sizeof *items);
    if (!items) {
        s->has_failed = true;
        return false;
    }
    summary->items = items;
    summary->cap = count;
    return true;
}

// ---- Summaries ----

// The most rank of what is below an entry, and the least rank of what is above it.
static float max_rank_before(const bd_quantile_entry *e)
{
    return e->max_rank - e->weight;
}

static float min_rank_after(const bd_quantile_entry *e)
{
    return e->min_rank + e->weight;
}

static float total_weight(const bd_quantile_summary *s)
{
    return s->len ? s->items[s->len - 1].max_rank : 0;
}

// Adds an entry of one summary, which lies between entries of the other: `below` is the least rank after the
// last one before it, `above` the most rank before the next one.
static void push_between(bd_quantile_summary *out, const bd_quantile_entry *e, float below, float above)
{
    out->items[out->len++] =
        (bd_quantile_entry){e->value, e->weight, e->min_rank + below, e->max_rank + above};
}

// Merges two summaries, none of which is empty, into `out`, which has room.
static void merge_into(bd_quantile_summary *out, const bd_quantile_summary *a, const bd_quantile_summary *b)
{
    size_t i = 0, k = 0;
    float after_a = 0, after_b = 0; // the least ranks after what was taken
    BD_ASSERT(a->items && b->items && out->items);
    while (i < a->len || k < b->len) {
        const bool has_a = i < a->len, has_b = k < b->len;
        const bool takes_a = has_a && (!has_b || !is_less(b->items[k].value, a->items[i].value));
        const bool takes_b = has_b && (!has_a || !is_less(a->items[i].value, b->items[k].value));
        const bd_quantile_entry *x = &a->items[i], *y = &b->items[k]; // where they are
        if (takes_a && takes_b)
            out->items[out->len++] = (bd_quantile_entry){
                x->value, x->weight + y->weight, x->min_rank + y->min_rank, x->max_rank + y->max_rank};
        else if (takes_a)
            push_between(out, x, after_b, has_b ? max_rank_before(y) : total_weight(b));
        else
            push_between(out, y, after_a, has_a ? max_rank_before(x) : total_weight(a));
        if (takes_a) after_a = min_rank_after(&a->items[i++]);
        if (takes_b) after_b = min_rank_after(&b->items[k++]);
    }
}

// Merges `b` into `a`.
static void merge(bd_quantile_stream *s, bd_quantile_summary *a, const bd_quantile_summary *b)
{
    bd_quantile_summary merged = {0};
    if (b->len == 0 || !reserve(s, &merged, a->len + b->len)) return;
    BD_ASSERT(merged.items && b->items);
    if (a->len == 0) {
        memcpy(merged.items, b->items, b->len * sizeof *b->items);
        merged.len = b->len;
    } else {
        merge_into(&merged, a, b);
    }
    bd_array_free(a);
    *a = merged;
}

// Leaves about `size` entries, the first and the last among them. An entry is left out when those around it
// are not further apart than the error allows, and no more than one in len / size in the long run is kept.
static void compress(bd_quantile_summary *s, int64_t size, double epsilon_min)
{
    if (size < 2) size = 2;
    if (s->len <= (size_t)size) return;
    const double error = (double)total_weight(s) * fmax(1.0 / (double)size, epsilon_min);
    // len / size entries for each that is kept, counted in parts of 1 / size.
    const int64_t per_kept = (int64_t)s->len;
    int64_t budget = per_kept;
    size_t kept = 1;
    for (size_t at = 0; at + 1 < s->len;) {
        size_t next = at + 1;
        for (; next < s->len && budget > 0 &&
               (double)(max_rank_before(&s->items[next]) - min_rank_after(&s->items[at])) <= error;
             next++)
            budget -= size;
        at = next - 1 > at ? next - 1 : at + 1;
        s->items[kept++] = s->items[at];
        budget += per_kept;
    }
    s->len = kept;
}

// The largest gap between ranks, as a part of the weight.
static double error_of(const bd_quantile_summary *s)
{
    float gap = 0;
    for (size_t i = 1; i < s->len; i++) {
        const bd_quantile_entry *e = &s->items[i];
        gap = fmaxf(gap,
                    fmaxf(e->max_rank - e->min_rank - e->weight, max_rank_before(e) - min_rank_after(e - 1)));
    }
    return (double)gap / (double)total_weight(s);
}

int64_t bd_quantile_boundaries(bd_quantile_summary *s, int64_t count, float *values)
{
    if (s->len == 0) return 0;
    const float epsilon = (float)(error_of(s) + 1.0 / (double)count);
    compress(s, count, (double)epsilon);
    int64_t n = 0;
    for (size_t i = 0; i < s->len; i++)
        if (n == 0 || s->items[i].value != values[n - 1]) values[n++] = s->items[i].value;
    return n;
}

int64_t bd_quantile_values(const bd_quantile_summary *s, int64_t n, float *values)
{
    if (s->len == 0) return 0;
    size_t at = 0;
    for (int64_t rank = 0; rank <= n; rank++) {
        const float twice =
            2 * ((float)rank * total_weight(s) / (float)n); // the rank that is looked for, doubled
        while (at + 1 < s->len && twice >= s->items[at + 1].min_rank + s->items[at + 1].max_rank)
            at++;
        const bool is_next =
            at + 1 < s->len && twice >= min_rank_after(&s->items[at]) + max_rank_before(&s->items[at + 1]);
        values[rank] = s->items[is_next ? at + 1 : at].value;
    }
    return n + 1;
}

// ---- Streams ----

// The least number of levels whose blocks hold all elements: level l takes 2^l blocks, and each level adds an
// error of one block's, so that blocks are as much smaller as there are levels.
static int64_t block_size_of(double epsilon, int64_t max_elements)
{
    int64_t size = 2, held;
    if (epsilon <= DBL_EPSILON) return max_elements > 2 ? max_elements : 2; // exact
    for (int level = 1; level < 62; level++) {
        if (__builtin_mul_overflow(INT64_C(1) << level, size, &held) || held >= max_elements) break;
        size = (int64_t)ceil(level / epsilon) + 1;
    }
    return size;
}

braid_code bd_quantile_stream_init(bd_quantile_stream *s, double epsilon, int64_t max_elements,
                                   braid_status *st)
{
    *s = (bd_quantile_stream){.epsilon = epsilon};
    if (!(epsilon > 0))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "An epsilon value of zero is not allowed.");
    if (epsilon >= 1) return bd_fail(st, BRAID_INVALID_ARGUMENT, "epsilon must be below 1, got %g", epsilon);
    if (max_elements <= 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "max_elements must be positive, got %lld",
                       (long long)max_elements);
    s->block_size = block_size_of(epsilon, max_elements);
    s->buffer_max = s->block_size <= max_elements / 2 ? 2 * s->block_size : max_elements;
    return BRAID_OK;
}

static void clear(bd_quantile_stream *s)
{
    for (size_t i = 0; i < s->levels.len; i++)
        bd_array_free(&s->levels.items[i]);
    bd_array_free(&s->levels);
    bd_array_free(&s->buffer);
    s->has_failed = false;
}

void bd_quantile_stream_fini(bd_quantile_stream *s)
{
    clear(s);
}

// Adds a summary, which becomes empty, to the lowest level that has room for it.
static void settle(bd_quantile_stream *s, bd_quantile_summary *summary)
{
    for (size_t level = 0; summary->len > 0; level++) {
        if (level == s->levels.len) bd_array_push(&s->levels, (bd_quantile_summary){0});
        bd_quantile_summary *here = &s->levels.items[level];
        const bool was_empty = here->len == 0;
        merge(s, summary, here);
        bd_array_free(here);
        if (was_empty || (int64_t)summary->len <= s->block_size + 1) {
            *here = *summary;
            *summary = (bd_quantile_summary){0};
        } else {
            compress(summary, s->block_size, s->epsilon);
        }
    }
    bd_array_free(summary);
}

static int compare_values(const void *left, const void *right)
{
    const bd_weighted_value *a = left, *b = right;
    return is_less(a->value, b->value) ? -1 : is_less(b->value, a->value);
}

// Makes a summary of the buffer.
static void settle_buffer(bd_quantile_stream *s)
{
    bd_quantile_summary summary = {0};
    float rank = 0;
    if (s->buffer.len == 0 || !reserve(s, &summary, s->buffer.len)) return;
    qsort(s->buffer.items, s->buffer.len, sizeof *s->buffer.items, compare_values);
    for (size_t from = 0, to; from < s->buffer.len; from = to) {
        bd_quantile_entry e = {.value = s->buffer.items[from].value, .min_rank = rank};
        for (to = from; to < s->buffer.len && (to == from || s->buffer.items[to].value == e.value); to++)
            e.weight += s->buffer.items[to].weight;
        rank += e.weight;
        e.max_rank = e.min_rank + e.weight;
        summary.items[summary.len++] = e;
    }
    s->buffer.len = 0;
    compress(&summary, s->block_size, s->epsilon);
    settle(s, &summary);
}

void bd_quantile_stream_add(bd_quantile_stream *s, float value, float weight)
{
    if (!(weight > 0) || isinf(weight)) return;
    if (s->buffer.len == s->buffer.cap) {
        const size_t cap = s->buffer.cap ? 2 * s->buffer.cap : 64;
        bd_weighted_value *items = bd_try_realloc(s->buffer.items, cap * sizeof *items);
        if (!items) {
            s->has_failed = true;
            return;
        }
        s->buffer.items = items;
        s->buffer.cap = cap;
    }
    s->buffer.items[s->buffer.len++] = (bd_weighted_value){value, weight};
    if ((int64_t)s->buffer.len >= s->buffer_max) settle_buffer(s);
}

void bd_quantile_stream_add_summary(bd_quantile_stream *s, const bd_quantile_entry *entries, int64_t count)
{
    bd_quantile_summary summary = {0};
    if (count == 0 || !reserve(s, &summary, (size_t)count)) return;
    memcpy(summary.items, entries, (size_t)count * sizeof *entries);
    summary.len = (size_t)count;
    compress(&summary, s->block_size, s->epsilon);
    settle(s, &summary);
}

braid_code bd_quantile_stream_finish(bd_quantile_stream *s, bd_quantile_summary *out, braid_status *st)
{
    settle_buffer(s);
    for (size_t i = 0; i < s->levels.len; i++)
        merge(s, out, &s->levels.items[i]);
    const bool has_failed = s->has_failed;
    clear(s);
    if (!has_failed) return BRAID_OK;
    bd_array_free(out);
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for the quantiles of a feature");
}
