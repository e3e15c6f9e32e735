// CTCGreedyDecoder and CTCBeamSearchDecoder: the most likely sequences of labels of logits.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/nn/ctc.h"
#include "ops/sparse/sparse.h"

#include <string.h>

// ---- What the ops of ctc.h share ----

bool bd_ctc_inputs_read(bd_op_ctx *c, int lengths, braid_code code, bd_ctc_inputs *in)
{
    const braid_tensor *x = bd_input(c, 0), *n = bd_input(c, lengths);
    if (x->shape.rank != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "inputs is not a 3-Tensor");
        return false;
    }
    *in = (bd_ctc_inputs){.x = x,
                          .times = x->shape.dims[0],
                          .batch = x->shape.dims[1],
                          .classes = x->shape.dims[2],
                          .lengths = bd_tensor_i32(n)};
    if (n->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sequence_length is not a vector");
    } else if (in->classes > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_classes cannot exceed max int");
    } else if (n->shape.dims[0] != in->batch) {
        bd_op_fail(c, code,
                   "len(sequence_length) != batch_size.  len(sequence_length):  %lld batch_size: %lld",
                   (long long)n->shape.dims[0], (long long)in->batch);
    }
    for (int64_t b = 0; b < in->batch && !bd_op_failed(c); b++)
        if (in->lengths[b] > in->times)
            bd_op_fail(c, code, "sequence_length(%lld) <= %lld", (long long)b, (long long)in->times);
    return !bd_op_failed(c);
}

braid_code bd_ctc_shape(bd_shape_ctx *c, int lengths, int64_t *batch, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 3, st);
    if (!code) code = bd_shape_ctx_rank(c, lengths, 1, st);
    if (code) return code;
    const int64_t rows = bd_shape_dim(&c->inputs[0], 1), count = bd_shape_dim(&c->inputs[lengths], 0);
    if (rows >= 0 && count >= 0 && rows != count)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)rows,
                                 (long long)count);
    *batch = rows >= 0 ? rows : count;
    return BRAID_OK;
}

static bool read_inputs(bd_op_ctx *c, bd_ctc_inputs *in)
{
    if (bd_ctc_inputs_read(c, 1, BRAID_FAILED_PRECONDITION, in) && bd_tensor_count(in->x) == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "inputs must not be empty");
    return !bd_op_failed(c);
}

// ---- Outputs: for each of `tops` ranks the sequences of the batch as a sparse matrix ----

typedef struct decoded {
    int64_t batch, tops;
    bd_ctc_path *paths; // [batch, tops], the labels are owned
} decoded;

static bool decoded_init(bd_op_ctx *c, decoded *d)
{
    size_t count;
    d->paths = NULL;
    if (!__builtin_mul_overflow((size_t)d->batch, (size_t)d->tops, &count))
        d->paths = bd_try_calloc(count, sizeof *d->paths);
    if (!d->paths)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating %lld sequences", (long long)d->batch);
    return d->paths != NULL;
}

static void decoded_fini(decoded *d)
{
    for (int64_t i = 0; d->paths && i < d->batch * d->tops; i++)
        bd_free(d->paths[i].labels);
    bd_free(d->paths);
}

// Leaves out labels that equal the one before.
static void merge_repeated(bd_ctc_path *path)
{
    int64_t n = 0;
    for (int64_t i = 0; i < path->count; i++)
        if (i == 0 || path->labels[i] != path->labels[i - 1]) path->labels[n++] = path->labels[i];
    path->count = n;
}

// Outputs: the indices of each rank, then the values of each, then the shapes.
static void put_rank(bd_op_ctx *c, const decoded *d, int64_t rank)
{
    int64_t count = 0, longest = 0;
    for (int64_t b = 0; b < d->batch; b++) {
        const bd_ctc_path *path = &d->paths[b * d->tops + rank];
        count += path->count;
        longest = bd_max(longest, path->count);
    }
    const braid_shape shape = bd_shape2(d->batch, longest);
    int64_t *at = bd_output_sparse_indices(c, (int)rank, count, 2);
    const braid_tensor *values =
        at ? bd_output_sparse_values(c, (int)(d->tops + rank), BRAID_INT64, count) : NULL;
    if (!values || !bd_output_sparse_shape(c, (int)(2 * d->tops + rank), &shape)) return;
    int64_t *value = bd_tensor_i64(values);
    for (int64_t b = 0; b < d->batch && !bd_interrupted_at(b); b++) {
        const bd_ctc_path *path = &d->paths[b * d->tops + rank];
        for (int64_t i = 0; i < path->count; i++) {
            *at++ = b;
            *at++ = i;
            *value++ = path->labels[i];
        }
    }
}

static void put_decoded(bd_op_ctx *c, const decoded *d)
{
    const braid_shape shape = bd_shape2(d->batch, d->tops);
    const braid_tensor *scores = bd_output(c, (int)(3 * d->tops), bd_input(c, 0)->dtype, &shape);
    if (!scores) return;
    for (int64_t rank = 0; rank < d->tops && !bd_op_failed(c); rank++)
        put_rank(c, d, rank);
    for (int64_t i = 0; !bd_op_failed(c) && i < d->batch * d->tops; i++) {
        if (scores->dtype == BRAID_FLOAT) {
            bd_tensor_f32(scores)[i] = (float)d->paths[i].log_probability;
        } else {
            bd_tensor_f64(scores)[i] = d->paths[i].log_probability;
        }
    }
}

static braid_code decoded_shape(bd_shape_ctx *c, int64_t tops, braid_status *st)
{
    int64_t batch = -1;
    const braid_code code = bd_ctc_shape(c, 1, &batch, st);
    if (code) return code;
    for (int64_t i = 0; i < tops; i++) {
        c->outputs[i] = bd_shape2(-1, 2);
        c->outputs[tops + i] = bd_shape1(-1);
        c->outputs[2 * tops + i] = bd_shape1(2);
    }
    c->outputs[3 * tops] = bd_shape2(batch, tops);
    return BRAID_OK;
}

// ---- CTCGreedyDecoder ----

typedef struct greedy_state {
    bool merges;
} greedy_state;

static braid_code greedy_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    ((greedy_state *)state)->merges = bd_node_attr_bool(node, "merge_repeated");
    return BRAID_OK;
}

static int32_t best_class(const bd_ctc_inputs *in, int64_t t, int64_t b, double *logit)
{
    int32_t best = 0;
    *logit = bd_ctc_logit(in, t, b, 0);
    for (int32_t k = 1; k < in->classes; k++) {
        const double x = bd_ctc_logit(in, t, b, k);
        if (x > *logit) {
            *logit = x;
            best = k;
        }
    }
    return best;
}

// The most likely class at each time, without blanks. The score is -sum of the logits.
static bool decode_greedily(const bd_ctc_inputs *in, int64_t b, bool merges, bd_ctc_path *path)
{
    int32_t before = -1;
    path->labels = bd_try_calloc((size_t)bd_max(in->lengths[b], 0), sizeof *path->labels);
    for (int64_t t = 0; path->labels && t < in->lengths[b] && !bd_interrupted(); t++) {
        double logit;
        const int32_t class = best_class(in, t, b, &logit);
        path->log_probability -= logit;
        if (class != in->classes - 1 && !(merges && class == before)) path->labels[path->count++] = class;
        before = class;
    }
    return path->labels != NULL;
}

static void greedy_run(bd_op_ctx *c)
{
    const greedy_state *s = c->state;
    bd_ctc_inputs in;
    if (!read_inputs(c, &in)) return;
    decoded d = {.batch = in.batch, .tops = 1};
    if (!decoded_init(c, &d)) return;
    for (int64_t b = 0; b < in.batch && !bd_op_failed(c) && !bd_interrupted(); b++)
        if (!decode_greedily(&in, b, s->merges, &d.paths[b]))
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when decoding a sequence");
    if (!bd_op_failed(c)) put_decoded(c, &d);
    decoded_fini(&d);
}

static braid_code greedy_shape(bd_shape_ctx *c, braid_status *st)
{
    return decoded_shape(c, 1, st);
}

BD_OP(CTCGreedyDecoder) = {
    .signature = "(inputs: T, sequence_length: int32) -> (decoded_indices: int64, decoded_values: int64, "
                 "decoded_shape: int64, log_probability: T)",
    .attrs = "merge_repeated:bool=false; T:type{float,double}=float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = greedy_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(greedy_state),
                           .create = greedy_create,
                           .run = greedy_run}),
    .doc = "Gives the most likely class at each time, without blanks (the last class), as a sparse matrix, "
           "and -sum of their logits.",
};

// ---- CTCBeamSearchDecoder ----

typedef struct beam_state {
    int64_t width, tops;
    bool merges;
} beam_state;

static braid_code beam_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    *(beam_state *)state = (beam_state){.width = bd_node_attr_int(node, "beam_width"),
                                        .tops = bd_node_attr_int(node, "top_paths"),
                                        .merges = bd_node_attr_bool(node, "merge_repeated")};
    return BRAID_OK;
}

typedef struct beam_job {
    beam_state flags;
    bd_ctc_inputs in;
    decoded d;
    _Atomic(int) outcome; // of a sequence that failed
} beam_job;

static void search_some(void *arg, int64_t from, int64_t to)
{
    beam_job *j = arg;
    for (int64_t b = from; b < to && !bd_interrupted(); b++) {
        bd_ctc_path *paths = &j->d.paths[b * j->d.tops];
        const bd_ctc_outcome outcome = bd_ctc_search(&j->in, b, j->flags.width, j->d.tops, paths);
        if (outcome != BD_CTC_FOUND) atomic_store_explicit(&j->outcome, outcome, memory_order_relaxed);
        for (int64_t i = 0; i < j->d.tops && j->flags.merges; i++)
            merge_repeated(&paths[i]);
    }
}

static void beam_run(bd_op_ctx *c)
{
    const beam_state *s = c->state;
    beam_job j = {.flags = *s};
    if (!read_inputs(c, &j.in)) return;
    if (s->tops > s->width) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "requested more paths than the beam width.");
        return;
    }
    j.d = (decoded){.batch = j.in.batch, .tops = s->tops};
    if (!decoded_init(c, &j.d)) return;
    bd_parallel_for(c, j.in.batch, 1, search_some, &j);
    switch (atomic_load_explicit(&j.outcome, memory_order_relaxed)) {
    case BD_CTC_FOUND: put_decoded(c, &j.d); break;
    case BD_CTC_TOO_FEW:
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Less leaves in the beam search than requested.");
        break;
    default: bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when searching the best sequences"); break;
    }
    decoded_fini(&j.d);
}

static braid_code beam_shape(bd_shape_ctx *c, braid_status *st)
{
    return decoded_shape(c, bd_node_attr_int(c->node, "top_paths"), st);
}

BD_OP(CTCBeamSearchDecoder) = {
    .signature = "(inputs: T, sequence_length: int32) -> (decoded_indices: top_paths*int64, decoded_values: "
                 "top_paths*int64, decoded_shape: top_paths*int64, log_probability: T)",
    .attrs = "beam_width:int>=1; top_paths:int>=1; merge_repeated:bool=true; T:type{float,double}=float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = beam_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(beam_state),
                           .create = beam_create,
                           .run = beam_run}),
    .doc = "Gives the most likely sequences of labels (the last class is the blank) as sparse matrices, and "
           "the logarithms of their probabilities, by a beam search.",
    .deviation = "Of sequences of equal probability the one that was found first is kept.",
};
