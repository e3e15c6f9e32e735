// Takes pieces of a node's random stream, and fills outputs from a stream.
#include "ops/random/random_source.h"

#include "ops/common/element.h"

const bd_random_kinds bd_random_uniform = {&bd_random_uniform_f32, &bd_random_uniform_f64,
                                           &bd_random_uniform_half, &bd_random_uniform_bfloat16},
                      bd_random_normal = {.f32 = &bd_random_normal_f32, .f64 = &bd_random_normal_f64},
                      bd_random_truncated = {.f32 = &bd_random_truncated_f32,
                                             .f64 = &bd_random_truncated_f64};

const bd_random_kind *bd_random_kind_of(const bd_random_kinds *kinds, braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_DOUBLE: return kinds->f64;
    case BRAID_HALF: return kinds->half;
    case BRAID_BFLOAT16: return kinds->bfloat16;
    default: return kinds->f32;
    }
}

// ---- The source ----

void bd_random_source_init(bd_random_source *s, const braid_op *node)
{
    uint64_t seed = (uint64_t)bd_node_attr_int(node, "seed"),
             seed2 = (uint64_t)bd_node_attr_int(node, "seed2");
    if (seed == 0 && seed2 == 0) {
        seed = bd_random_u64();
        seed2 = bd_random_u64();
    }
    s->generator = bd_philox_init(seed, seed2);
    bd_mutex_init(&s->mu);
}

void bd_random_source_fini(bd_random_source *s)
{
    bd_mutex_fini(&s->mu);
}

bd_philox bd_random_source_take(bd_random_source *s, uint64_t steps)
{
    bd_mutex_lock(&s->mu);
    bd_philox start = s->generator;
    bd_philox_skip(&s->generator, steps);
    bd_mutex_unlock(&s->mu);
    return start;
}

uint32_t bd_random_word(bd_random_words *w)
{
    if (w->left == 0) {
        bd_philox_next4(&w->stream, w->word);
        w->left = 4;
    }
    return w->word[4 - w->left--];
}

uint32_t bd_random_below32(bd_random_words *w, uint32_t n)
{
    if ((n & (n - 1)) == 0) return bd_random_word(w) & (n - 1);
    uint32_t rest = UINT32_MAX % n + 1, word;
    do
        word = bd_random_word(w);
    while (word < rest);
    return word % n;
}

static uint64_t next_word64(bd_random_words *w)
{
    uint64_t low = bd_random_word(w);
    return low | (uint64_t)bd_random_word(w) << 32;
}

uint64_t bd_random_below64(bd_random_words *w, uint64_t n)
{
    if ((n & (n - 1)) == 0) return next_word64(w) & (n - 1);
    uint64_t rest = UINT64_MAX % n + 1, word;
    do
        word = next_word64(w);
    while (word < rest);
    return word % n;
}

braid_code bd_random_source_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_random_source_init(state, node);
    return BRAID_OK;
}

void bd_random_source_destroy(void *state)
{
    bd_random_source_fini(state);
}

// ---- Outputs ----

typedef struct fill_job {
    const bd_random_kind *kind;
    bd_random_fill fill;
} fill_job;

static void fill_part(void *arg, int64_t from, int64_t to)
{
    const fill_job *job = arg;
    job->kind->fill(&job->fill, from, to);
}

// Minimum groups for each thread: about 10 us of work.
#define GROUPS_PER_THREAD 1024

void bd_random_fill_output(bd_op_ctx *c, braid_tensor *y, const bd_random_kind *kind, bd_random_fill fill)
{
    fill_job job = {.kind = kind, .fill = fill};
    job.fill.out = y->data;
    job.fill.count = bd_tensor_count(y);
    int64_t groups = (job.fill.count + kind->group - 1) / kind->group;
    if (groups > 0) bd_parallel_for(c, groups, GROUPS_PER_THREAD, fill_part, &job);
}

// A scalar integer as 64 bits, sign-extended if it is signed.
static int64_t scalar_bits(const braid_tensor *t)
{
    switch (t->dtype) {
    case BRAID_UINT32: return *(const uint32_t *)t->data;
    case BRAID_UINT64: return (int64_t) * (const uint64_t *)t->data;
    default: return bd_tensor_index(t, 0);
    }
}

bool bd_random_check_bounds(bd_op_ctx *c, int i)
{
    static const char *const names[] = {"minval", "maxval"};
    for (int k = 0; k < 2; k++) {
        const braid_shape *shape = &bd_input(c, i + k)->shape;
        char text[BD_SHAPE_STR_MAX];
        if (shape->rank == 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 0-D, got shape %s", names[k],
                   bd_shape_str(shape, text));
        return false;
    }
    return true;
}

bool bd_random_bounds(bd_op_ctx *c, int i, bd_random_fill *fill)
{
    if (!bd_random_check_bounds(c, i)) return false;
    const int64_t bounds[2] = {scalar_bits(bd_input(c, i)), scalar_bits(bd_input(c, i + 1))};
    uint64_t low = (uint64_t)bounds[0], high = (uint64_t)bounds[1];
    bool is_unsigned = bd_input(c, i)->dtype == BRAID_UINT64;
    if (is_unsigned && low >= high) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need minval < maxval, got %llu >= %llu",
                   (unsigned long long)low, (unsigned long long)high);
    } else if (!is_unsigned && bounds[0] >= bounds[1]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld", (long long)bounds[0],
                   (long long)bounds[1]);
    }
    fill->low = bounds[0];
    fill->range = high - low;
    return !bd_op_failed(c);
}

// ---- Shapes ----

braid_code bd_random_shape_fn_samples(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *each = &c->inputs[1];
    braid_code code = bd_shape_ctx_from_input(c, 0, st);
    braid_shape *out = &c->outputs[0];
    if (code || out->rank < 0) return code;
    if (each->rank < 0 || out->rank + each->rank > BRAID_RANK_MAX) {
        *out = BD_SHAPE_UNKNOWN;
        return BRAID_OK;
    }
    for (int d = 0; d < each->rank; d++)
        out->dims[out->rank + d] = each->dims[d];
    out->rank += each->rank;
    return BRAID_OK;
}
