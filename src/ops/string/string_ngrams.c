// StringNGrams: neighbouring strings joined, within the rows of a ragged tensor.
#include "base/check.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"

#include <string.h>

typedef struct ngram_state {
    bd_bytes separator, left_pad, right_pad; // of the node
    const int64_t *widths;
    int width_count;
    int64_t pad_width; // negative: as wide as can be
    bool preserve_short;
} ngram_state;

// The limit of the width: a padded row of more would be a large allocation.
#define NGRAM_WIDTH_MAX 65536

static braid_code ngrams_create(const braid_op *node, void *state, braid_status *st)
{
    ngram_state *s = state;
    const bd_attr *widths = bd_node_attr(node, "ngram_widths");
    *s = (ngram_state){
        .separator = bd_node_attr(node, "separator")->s,
        .left_pad = bd_node_attr(node, "left_pad")->s,
        .right_pad = bd_node_attr(node, "right_pad")->s,
        .widths = widths->list.i,
        .width_count = widths->list.count,
        .pad_width = bd_node_attr_int(node, "pad_width"),
        .preserve_short = bd_node_attr_bool(node, "preserve_short_sequences"),
    };
    for (int i = 0; i < s->width_count; i++) {
        if (s->widths[i] <= 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "ngram_widths must contain positive values");
        int64_t pad = s->pad_width < 0 || s->pad_width > s->widths[i] - 1 ? s->widths[i] - 1 : s->pad_width;
        if (pad > NGRAM_WIDTH_MAX)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Pad width could lead to integer overflow, got pad_width = %lld", (long long)pad);
        if (s->widths[i] > NGRAM_WIDTH_MAX)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "ngram_widths must be at most %d: %lld",
                           NGRAM_WIDTH_MAX, (long long)s->widths[i]);
    }
    if (s->pad_width > NGRAM_WIDTH_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "pad_width must be at most %d: %lld", NGRAM_WIDTH_MAX,
                       (long long)s->pad_width);
    return BRAID_OK;
}

static braid_code ngrams_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    c->outputs[0] = bd_shape1(-1);
    c->outputs[1] = c->inputs[1];
    return code;
}

// ---- One row ----

static int64_t pad_of(const ngram_state *s, int64_t width)
{
    return s->pad_width < 0 ? width - 1 : bd_min(s->pad_width, width - 1);
}

static int64_t count_of(const ngram_state *s, int64_t len, int64_t width)
{
    return bd_max(0, len + 2 * pad_of(s, width) - width + 1);
}

// A row of no n-grams is kept whole, with its padding.
static bool is_kept(const ngram_state *s, int64_t len, int64_t count)
{
    return s->preserve_short && len > 0 && count == 0;
}

static char *put(char *to, const char *data, size_t len)
{
    return len > 0 ? mempcpy(to, data, len) : to;
}

// Element `at` of the output: `left` pads, strings [0, n) of `x`, `right` pads.
static bool put_ngram(bd_op_ctx *c, const braid_tensor *y, int64_t at, int64_t left, const bd_string *x,
                      int64_t n, int64_t right)
{
    const ngram_state *s = c->state;
    size_t len = (size_t)left * s->left_pad.len + (size_t)right * s->right_pad.len +
                 (size_t)(left + n + right - 1) * s->separator.len;
    for (int64_t i = 0; i < n; i++)
        len += x[i].len;
    char *out = bd_string_room(c, y, at, len);
    for (int64_t i = 0; out && i < left + n + right; i++) {
        if (i > 0) out = put(out, s->separator.data, s->separator.len);
        if (i < left)
            out = put(out, s->left_pad.data, s->left_pad.len);
        else if (i < left + n)
            out = put(out, x[i - left].data, x[i - left].len);
        else
            out = put(out, s->right_pad.data, s->right_pad.len);
    }
    return out != NULL;
}

// The n-grams of one width of a row of `len` strings. Returns where the next ones go; -1: the kernel has
// failed.
static int64_t put_row(bd_op_ctx *c, const braid_tensor *y, int64_t at, const bd_string *x, int64_t len,
                       int64_t width)
{
    const ngram_state *s = c->state;
    int64_t pad = pad_of(s, width), count = count_of(s, len, width);
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {
        int64_t left = bd_max(0, pad - i), right = bd_max(0, pad - (count - 1 - i));
        int64_t from = left > 0 ? 0 : i - pad;
        if (!put_ngram(c, y, at + i, left, x + from, width - left - right, right)) return -1;
    }
    return at + count;
}

// ---- All rows ----

static bool check_splits(bd_op_ctx *c, const braid_tensor *splits, int64_t size)
{
    int64_t n = bd_tensor_count(splits), before = 0;
    if (n > 0 && bd_tensor_index(splits, 0) != 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "First split value must be 0, got %lld",
                   (long long)bd_tensor_index(splits, 0));
    for (int64_t i = 1; i < n && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        int64_t at = bd_tensor_index(splits, i);
        if (at < before || at > size)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid split value %lld, must be in [%lld, %lld]",
                       (long long)at, (long long)before, (long long)size);
        before = at;
    }
    if (n > 0 && before != size)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Last split value must be data size. Expected %lld, got %lld",
                   (long long)size, (long long)before);
    return !bd_op_failed(c) && !bd_op_interrupted(c);
}

// The number of n-grams before each row, and in all.
static bool count_ngrams(bd_op_ctx *c, const braid_tensor *splits, const braid_tensor *out)
{
    const ngram_state *s = c->state;
    bool is_long = out->dtype == BRAID_INT64;
    int64_t total = 0;
    for (int64_t i = 0; i < bd_tensor_count(splits) && !bd_interrupted_at(i); i++) {
        if (i > 0) {
            int64_t len = bd_tensor_index(splits, i) - bd_tensor_index(splits, i - 1), count = 0;
            for (int w = 0; w < s->width_count; w++)
                count += count_of(s, len, s->widths[w]);
            total += is_kept(s, len, count) ? 1 : count;
        }
        if (total > (is_long ? INT64_MAX / 2 : INT32_MAX)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The number of n-grams does not fit %s",
                       braid_dtype_name(out->dtype));
            return false;
        }
        if (is_long)
            bd_tensor_i64(out)[i] = total;
        else
            bd_tensor_i32(out)[i] = (int32_t)total;
    }
    return !bd_op_interrupted(c);
}

static bool put_all(bd_op_ctx *c, const braid_tensor *y, const braid_tensor *splits,
                    const braid_tensor *starts)
{
    const ngram_state *s = c->state;
    for (int64_t i = 0; i + 1 < bd_tensor_count(splits) && !bd_interrupted_at(i); i++) {
        const bd_string *x = bd_tensor_str(bd_input(c, 0)) + bd_tensor_index(splits, i);
        int64_t len = bd_tensor_index(splits, i + 1) - bd_tensor_index(splits, i);
        int64_t start = bd_tensor_index(starts, i), at = start;
        for (int w = 0; w < s->width_count && at >= 0; w++)
            at = put_row(c, y, at, x, len, s->widths[w]);
        if (at < 0) return false;
        if (!is_kept(s, len, at - start)) continue;
        if (s->pad_width < 0) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not "
                "provided, got %lld",
                (long long)s->pad_width);
            return false;
        }
        if (!put_ngram(c, y, at, s->pad_width, x, len, s->pad_width)) return false;
    }
    return true;
}

static void ngrams_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *splits = bd_input(c, 1);
    if (!check_splits(c, splits, bd_tensor_count(x))) return;
    braid_tensor *starts = bd_output(c, 1, splits->dtype, &splits->shape);
    if (!starts) return;
    if (bd_tensor_count(x) == 0 || bd_tensor_count(splits) == 0) {
        memset(starts->data, 0, bd_tensor_bytes(starts));
        bd_output(c, 0, BRAID_STRING, &x->shape);
        return;
    }
    if (!count_ngrams(c, splits, starts)) return;
    braid_shape shape = bd_shape1(bd_tensor_index(starts, bd_tensor_count(starts) - 1));
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
    if (y) put_all(c, y, splits, starts);
}

BD_OP(StringNGrams) = {
    .signature = "(data: string, data_splits: Tsplits) -> (ngrams: string, ngrams_splits: Tsplits)",
    .attrs = "separator:string; ngram_widths:list(int)>=0; left_pad:string; right_pad:string; pad_width:int; "
             "preserve_short_sequences:bool; Tsplits:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = ngrams_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(ngram_state), .create = ngrams_create, .run = ngrams_run}),
    .doc =
        "Joins each `ngram_widths` neighbouring strings of a row, with padding at its ends; rows are those of a ragged "
        "tensor.",
    .deviation = "Widths are at most 65536.",
};
