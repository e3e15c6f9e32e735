// SkipGramGenerateCandidates: the pairs of tokens and neighbours from which skip-gram models learn (Mikolov
// et al., arXiv 1301.3781).
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/common/element.h"
#include "ops/random/random_source.h"

static braid_code skip_gram_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->input_count - 1; i++) {
        const int rank = i == 0 ? 1 : 0;
        if (bd_shape_ctx_rank(c, i, rank, st)) return st->code;
    }
    c->outputs[0] = c->outputs[1] = bd_shape1(-1);
    return BRAID_OK;
}

// The tokens [from, to) of the input. The one at `i` has up to windows[i - from] neighbours on each side.
typedef struct sentence {
    int64_t from, to;
    int32_t *windows;
    bool with_self; // each token is a neighbour of itself
} sentence;

static bool read_ints(bd_op_ctx *c, int64_t values[4])
{
    static const char *const names[] = {"min_skips", "max_skips", "start", "limit"};
    for (int i = 0; i < 4; i++) {
        if (!bd_input_int(c, 1 + i, names[i], &values[i])) return false;
    }
    if (values[0] < 0 || values[1] < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Both min_skips and max_skips must be >= 0.");
    else if (values[0] > values[1])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "min_skips must be <= max_skips.");
    else if (values[2] < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "start must be >= 0, not %lld", (long long)values[2]);
    return !bd_op_failed(c);
}

// Neighbours of the token at `i`: [*from, *to), with the token itself.
static void window_of(const sentence *s, int64_t i, int64_t *from, int64_t *to)
{
    const int64_t reach = s->windows[i - s->from];
    *from = bd_max(s->from, i - reach);
    *to = bd_min(s->to, i + reach + 1);
}

// Draws the windows; returns the number of pairs.
static int64_t draw_windows(bd_op_ctx *c, sentence *s, int64_t least, int64_t most)
{
    const int64_t tokens = s->to - s->from;
    bd_random_words w = {.stream = bd_random_source_take(c->state, ((uint64_t)tokens + 1 + 3) / 4)};
    int64_t pairs = 0;
    for (int64_t i = s->from; i < s->to && !bd_interrupted_at(i); i++) {
        s->windows[i - s->from] = (int32_t)(least + bd_random_below32(&w, (uint32_t)(most - least + 1)));
        int64_t from, to;
        window_of(s, i, &from, &to);
        pairs += to - from - (s->with_self ? 0 : 1);
    }
    return pairs;
}

static void put_pairs(bd_op_ctx *c, const sentence *s, const braid_tensor *tokens, const braid_tensor *labels)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t n = 0;
    for (int64_t i = s->from; i < s->to && !bd_interrupted_at(i); i++) {
        int64_t from, to;
        window_of(s, i, &from, &to);
        for (int64_t j = from; j < to && !bd_interrupted_at(n); j++) {
            if (j == i && !s->with_self) continue;
            bd_elements_copy(tokens, n, x, i, 1);
            bd_elements_copy(labels, n, x, j, 1);
            n++;
        }
    }
}

static void skip_gram_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *with_self = bd_input(c, 5);
    int64_t v[4]; // min_skips, max_skips, start, limit
    if (!read_ints(c, v)) return;
    if (x->shape.rank != 1 || with_self->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input_tensor must be a vector and emit_self_as_target a scalar");
        return;
    }
    const int64_t count = x->shape.dims[0], end = v[3] < 0 ? count : bd_min(count, v[2] + v[3]);
    sentence s = {.from = bd_min(v[2], end), .to = end, .with_self = *(const bool *)with_self->data};
    s.windows = bd_try_malloc((size_t)(s.to - s.from) * sizeof *s.windows);
    if (!s.windows) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM for the windows of %lld tokens",
                   (long long)(s.to - s.from));
        return;
    }
    const braid_shape shape = bd_shape1(draw_windows(c, &s, v[0], v[1]));
    if (!bd_op_interrupted(c)) {
        const braid_tensor *tokens = bd_output(c, 0, x->dtype, &shape),
                           *labels = bd_output(c, 1, x->dtype, &shape);
        if (tokens && labels) put_pairs(c, &s, tokens, labels);
    }
    bd_free(s.windows);
}

BD_OP(SkipGramGenerateCandidates) = {
    .signature = "(input_tensor: T, min_skips: int32, max_skips: int32, start: int32, limit: int32, "
                 "emit_self_as_target: bool) -> (tokens: T, labels: T)",
    .attrs = "T:type; seed:int=0; seed2:int=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = skip_gram_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE,
                           .state_size = sizeof(bd_random_source),
                           .create = bd_random_source_create,
                           .destroy = bd_random_source_destroy,
                           .run = skip_gram_run}),
    .doc =
        "Pairs of a token and a neighbour, of all tokens; how many of the neighbours are taken is drawn for "
        "each token, from [min_skips, max_skips].",
};
