// CTCLoss: connectionist temporal classification, by the forward-backward algorithm in logarithms (A. Graves,
// S. Fernandez, F. Gomez, J. Schmidhuber, "Connectionist temporal classification: labelling unsegmented
// sequence data with recurrent neural networks", 2006; the equations are those of A. Graves, "Supervised
// sequence labelling with recurrent neural networks", 2012, chapter 7).
//
// A sequence of labels l becomes states l': the labels with a blank before, between and after them. With T
// times and U states, alpha(t,u) is the probability of all ways to be in state u at time t, times 0 to t
// included; beta(t,u) that of all ways to end from there, times t + 1 to T - 1. The loss is
// -log(sum over u of alpha(t,u) * beta(t,u)), which is the same at each t.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/nn/ctc.h"
#include "ops/sparse/sparse.h"

#include <math.h>
#include <string.h>

typedef struct loss_state {
    bool collapses, merges, ignores_longer;
} loss_state;

static braid_code loss_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    *(loss_state *)state =
        (loss_state){.collapses = bd_node_attr_bool(node, "preprocess_collapse_repeated"),
                     .merges = bd_node_attr_bool(node, "ctc_merge_repeated"),
                     .ignores_longer = bd_node_attr_bool(node, "ignore_longer_outputs_than_inputs")};
    return BRAID_OK;
}

typedef struct loss_job {
    loss_state flags;
    bd_ctc_inputs in;
    const int32_t *labels; // [number of labels]
    int64_t *label_at;     // [batch + 1], where the labels of each sequence begin
    int32_t *states;       // [2 * number of labels + batch]
    int64_t *state_counts; // [batch]; the states of sequence b begin at 2 * label_at[b] + b
    braid_tensor *loss, *gradient;
    atomic_bool is_out_of_memory;
} loss_job;

// ---- The labels ----

// Reads where the labels of each sequence begin from the indices, which are sorted.
static void find_sequences(const bd_sparse *labels, loss_job *j)
{
    int64_t at = 0;
    for (int64_t b = 0; b < j->in.batch; b++) {
        while (at < labels->count && bd_sparse_row(labels, at)[0] < b)
            at++;
        j->label_at[b] = at;
    }
    j->label_at[j->in.batch] = labels->count;
}

static void fail_label(bd_op_ctx *c, const char *what, int64_t b, int32_t label)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s, batch: %lld label: %d", what, (long long)b, label);
}

// Makes the states of sequence `b`: a blank before each label, and one at the end.
static void make_states(bd_op_ctx *c, loss_job *j, int64_t b)
{
    const int32_t blank = (int32_t)(j->in.classes - 1);
    const int32_t *labels = j->labels + j->label_at[b];
    int32_t *states = j->states + 2 * j->label_at[b] + b;
    const int64_t count = j->label_at[b + 1] - j->label_at[b];
    int64_t n = 0;
    bool has_ended = false;
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {
        if (i > 0 && j->flags.collapses && labels[i] == labels[i - 1]) continue;
        if (labels[i] >= blank) {
            has_ended = true;
        } else if (has_ended) {
            fail_label(c, "Saw a non-null label (index >= num_classes - 1) following a null label", b,
                       labels[i]);
            return;
        } else if (labels[i] < 0) {
            fail_label(c, "All labels must be nonnegative integers", b, labels[i]);
            return;
        } else {
            states[n++] = blank;
            states[n++] = labels[i];
        }
    }
    states[n++] = blank;
    j->state_counts[b] = n;
}

static bool is_longer(const loss_job *j, int64_t b)
{
    return j->label_at[b + 1] - j->label_at[b] > j->in.lengths[b];
}

static void check_sequence(bd_op_ctx *c, const loss_job *j, int64_t b)
{
    const int64_t count = j->label_at[b + 1] - j->label_at[b];
    if (count == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Labels length is zero in batch %lld", (long long)b);
    else if (is_longer(j, b) && !j->flags.ignores_longer)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Not enough time for target transition sequence (required: %lld, available: %d) in batch "
                   "%lld. You can turn this error into a warning by using the flag "
                   "ignore_longer_outputs_than_inputs",
                   (long long)count, j->in.lengths[b], (long long)b);
}

// ---- The recursions ----

// The range of states at time `t` from which the end can be reached in the times that remain, and which can
// have been reached from the start.
typedef struct band {
    int64_t from, to;
} band;

static band band_at(int64_t t, int64_t times, int64_t states)
{
    return (band){bd_max(0, states - 2 * (times - t)), bd_min(states, 2 * (t + 1))};
}

// The logarithm of the sum of three numbers given by their logarithms.
static double log_sum(double a, double b, double c)
{
    const double most = fmax(fmax(a, b), c);
    return most == -INFINITY ? a + b + c : most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

// One sequence with its working memory.
typedef struct sequence {
    const loss_job *j;
    const int32_t *states; // [count]
    int64_t b, times, count;
    double *alpha; // [times, count]: logarithms, as all that follow
    double *beta;  // [count], at the time in work
    double *next;  // [count], beta at the time after it, times the probability of the state there
    double *seen;  // [count], the probability of each state at one time
} sequence;

static bool may_stay(const sequence *s, int64_t u)
{
    return s->j->flags.merges || s->states[u] == s->j->in.classes - 1;
}

// Whether a path may go from state u - 2 to u, without the blank between them.
static bool may_skip(const sequence *s, int64_t u)
{
    return s->states[u] != s->j->in.classes - 1 && !(s->j->flags.merges && s->states[u] == s->states[u - 2]);
}

// The element of the output `gradient`, in which the logarithms of the softmax are until the end.
static int64_t row_at(const sequence *s, int64_t t)
{
    return (t * s->j->in.batch + s->b) * s->j->in.classes;
}

static void see(const sequence *s, int64_t t)
{
    const int64_t row = row_at(s, t);
    if (s->j->gradient->dtype == BRAID_FLOAT) {
        const float *log_y = bd_tensor_f32(s->j->gradient) + row;
        for (int64_t u = 0; u < s->count; u++)
            s->seen[u] = (double)log_y[s->states[u]];
    } else {
        const double *log_y = bd_tensor_f64(s->j->gradient) + row;
        for (int64_t u = 0; u < s->count; u++)
            s->seen[u] = log_y[s->states[u]];
    }
}

static void fill(double *row, int64_t count, double value)
{
    for (int64_t u = 0; u < count; u++)
        row[u] = value;
}

// Equations 7.5 to 7.9. Returns the logarithm of the probability of the labels (7.11).
static double go_forward(const sequence *s)
{
    for (int64_t t = 0; t < s->times && !bd_interrupted(); t++) {
        double *alpha = s->alpha + t * s->count;
        const double *before = alpha - s->count;
        const band range = band_at(t, s->times, s->count);
        see(s, t);
        fill(alpha, s->count, -INFINITY);
        for (int64_t u = range.from; u < range.to; u++) {
            if (t == 0) {
                alpha[u] = s->seen[u];
                continue;
            }
            const double stay = may_stay(s, u) ? before[u] : -INFINITY,
                         step = u > 0 ? before[u - 1] : -INFINITY,
                         skip = u > 1 && may_skip(s, u) ? before[u - 2] : -INFINITY;
            alpha[u] = s->seen[u] + log_sum(stay, step, skip);
        }
    }
    const double *last = s->alpha + s->times * s->count - 1;
    return log_sum(last[0], s->count > 1 ? last[-1] : -INFINITY, -INFINITY);
}

// Equations 7.13 to 7.15, for time `t`; `next` holds what came of the time after it.
static void go_back(const sequence *s, int64_t t)
{
    const band range = band_at(t, s->times, s->count);
    fill(s->beta, s->count, -INFINITY);
    for (int64_t u = range.from; u < range.to; u++) {
        const double stay = may_stay(s, u) ? s->next[u] : -INFINITY,
                     step = u + 1 < s->count ? s->next[u + 1] : -INFINITY,
                     skip = u + 2 < s->count && may_skip(s, u + 2) ? s->next[u + 2] : -INFINITY;
        s->beta[u] = log_sum(stay, step, skip);
    }
}

// Makes the logarithms of the softmax at time `t` the softmax itself.
static void *softmax_row(const sequence *s, int64_t t)
{
    const braid_tensor *y = s->j->gradient;
    void *row = (char *)y->data + (size_t)row_at(s, t) * braid_dtype_size(y->dtype);
    bd_kernels()->unary[BD_EXP][bd_number_of(y->dtype)](row, row, s->j->in.classes);
    return row;
}

// Equation 7.34: the softmax less the share of the paths that are in a state of the class at time `t`.
static void put_gradient(const sequence *s, int64_t t, double log_p)
{
    void *row = softmax_row(s, t);
    const double *alpha = s->alpha + t * s->count;
    for (int64_t u = 0; u < s->count && log_p > -INFINITY; u++) {
        const double share = exp(alpha[u] + s->beta[u] - log_p);
        if (s->j->gradient->dtype == BRAID_FLOAT) {
            ((float *)row)[s->states[u]] -= (float)share;
        } else {
            ((double *)row)[s->states[u]] -= share;
        }
    }
}

static void run_sequence(const sequence *s)
{
    const double log_p = go_forward(s);
    if (s->j->loss->dtype == BRAID_FLOAT) {
        bd_tensor_f32(s->j->loss)[s->b] = (float)-log_p;
    } else {
        bd_tensor_f64(s->j->loss)[s->b] = -log_p;
    }
    fill(s->beta, s->count, -INFINITY);
    for (int64_t u = bd_max(0, s->count - 2); u < s->count; u++)
        s->beta[u] = 0;
    for (int64_t t = s->times - 1; t >= 0 && !bd_interrupted(); t--) {
        if (t < s->times - 1) go_back(s, t);
        see(s, t);
        for (int64_t u = 0; u < s->count; u++)
            s->next[u] = s->beta[u] + s->seen[u];
        put_gradient(s, t, log_p);
    }
}

// Zeros from time `from` on.
static void clear_rows(const loss_job *j, int64_t b, int64_t from)
{
    const size_t size = (size_t)j->in.classes * braid_dtype_size(j->gradient->dtype);
    for (int64_t t = from; t < j->in.times && !bd_interrupted_at(t); t++)
        memset((char *)j->gradient->data + (size_t)(t * j->in.batch + b) * size, 0, size);
}

static void run_sequences(void *arg, int64_t from, int64_t to)
{
    loss_job *j = arg;
    for (int64_t b = from; b < to && !bd_interrupted(); b++) {
        const bool is_left_out = j->in.lengths[b] == 0 || is_longer(j, b);
        clear_rows(j, b, is_left_out ? 0 : j->in.lengths[b]);
        if (is_left_out) continue;
        sequence s = {.j = j,
                      .states = j->states + 2 * j->label_at[b] + b,
                      .b = b,
                      .times = j->in.lengths[b],
                      .count = j->state_counts[b]};
        s.alpha = bd_try_calloc((size_t)(s.times + 3), (size_t)s.count * sizeof *s.alpha);
        if (!s.alpha) {
            atomic_store_explicit(&j->is_out_of_memory, true, memory_order_relaxed);
            return;
        }
        s.beta = s.alpha + s.times * s.count;
        s.next = s.beta + s.count;
        s.seen = s.next + s.count;
        run_sequence(&s);
        bd_free(s.alpha);
    }
}

// ---- The op ----

static void run_job(bd_op_ctx *c, loss_job *j, const bd_sparse *labels)
{
    const braid_tensor *x = bd_input(c, 0);
    const braid_shape losses = bd_shape1(j->in.batch);
    find_sequences(labels, j);
    for (int64_t b = 0; b < j->in.batch && !bd_op_failed(c); b++) {
        check_sequence(c, j, b);
        if (!bd_op_failed(c)) make_states(c, j, b);
    }
    if (bd_op_failed(c) || bd_op_interrupted(c)) return;
    j->loss = bd_output(c, 0, x->dtype, &losses);
    j->gradient = j->loss ? bd_output_forward(c, 1, 0, x->dtype, &x->shape) : NULL;
    if (!j->gradient) return;
    memset(j->loss->data, 0, (size_t)j->in.batch * braid_dtype_size(x->dtype));
    bd_kernels()->softmax[bd_number_of(x->dtype)].log_softmax(x->data, j->gradient->data,
                                                              j->in.times * j->in.batch, j->in.classes);
    bd_parallel_for(c, j->in.batch, 1, run_sequences, j);
    if (atomic_load_explicit(&j->is_out_of_memory, memory_order_relaxed))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating the probabilities of a sequence");
}

// Checks the indices of the labels: columns are the sequence and the place in it.
static bool read_labels(bd_op_ctx *c, int64_t batch, bd_sparse *labels)
{
    const braid_tensor *values = bd_input(c, 2);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!bd_sparse_input_indices(c, 1, labels)) return false;
    if (values->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "labels_values is not a vector");
    } else if (values->shape.dims[0] != labels->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "labels_indices and labels_values must contain the same number of rows, but saw shapes: "
                   "%s vs. %s",
                   bd_shape_str(&bd_input(c, 1)->shape, a), bd_shape_str(&values->shape, b));
    } else if (labels->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "labels_indices must have 2 columns, but has shape %s",
                   bd_shape_str(&bd_input(c, 1)->shape, a));
    } else {
        int64_t last = 0;
        for (int64_t i = 0; i < labels->count && !bd_interrupted_at(i); i++)
            last = bd_max(last, bd_min(bd_sparse_row(labels, i)[1], INT64_MAX - 1));
        labels->shape = bd_shape2(batch, last + 1);
        bd_sparse_check_order(c, labels);
    }
    return !bd_op_failed(c);
}

static void loss_run(bd_op_ctx *c)
{
    loss_job j = {.flags = *(const loss_state *)c->state, .labels = bd_tensor_i32(bd_input(c, 2))};
    BD_SPARSE(labels);
    if (!bd_ctc_inputs_read(c, 3, BRAID_INVALID_ARGUMENT, &j.in)) return;
    if (j.in.batch == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "batch_size must not be 0");
    } else if (j.in.times == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Max time or first dimension of input cannot be 0.");
    } else if (j.in.classes == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "inputs has no classes: there must be one for the blank");
    }
    for (int64_t b = 0; b < j.in.batch && !bd_op_failed(c); b++)
        if (j.in.lengths[b] < 0) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_len(%lld) < 0", (long long)b);
    if (bd_op_failed(c) || !read_labels(c, j.in.batch, &labels)) return;
    j.label_at = bd_try_calloc((size_t)j.in.batch + 1, 2 * sizeof *j.label_at);
    j.states = bd_try_calloc((size_t)labels.count + (size_t)j.in.batch, 2 * sizeof *j.states);
    if (!j.label_at || !j.states) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying %lld labels", (long long)labels.count);
    } else {
        j.state_counts = j.label_at + j.in.batch + 1;
        run_job(c, &j, &labels);
    }
    bd_free(j.label_at);
    bd_free(j.states);
}

static braid_code loss_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t batch = -1;
    braid_code code = bd_ctc_shape(c, 3, &batch, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 1, st);
    if (code) return code;
    const int64_t indices = bd_shape_dim(&c->inputs[1], 0), values = bd_shape_dim(&c->inputs[2], 0);
    if (indices >= 0 && values >= 0 && indices != values)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)indices,
                                 (long long)values);
    c->outputs[0] = bd_shape1(batch);
    c->outputs[1] = c->inputs[0];
    if (c->outputs[1].rank < 0) c->outputs[1] = (braid_shape){.rank = 3, .dims = {-1, -1, -1}};
    c->outputs[1].dims[1] = batch;
    return BRAID_OK;
}

static void loss_gradient(bd_grad_ctx *c)
{
    if (!c->output_grads[0].op) return;
    braid_op_desc *d = braid_op_begin(c->graph, "PreventGradient", NULL);
    braid_op_input(d, braid_output(c->op, 1));
    braid_op_attr_string(d, "message",
                         "Currently there is no way to take the second  derivative of ctc_loss due to the "
                         "fused implementation's interaction  with tf.gradients()");
    c->input_grads[0] = bd_grad_scale_rows(c->graph, c->output_grads[0], braid_op_end_out(d));
}

BD_OP(CTCLoss) = {
    .signature = "(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> "
                 "(loss: T, gradient: T)",
    .attrs = "preprocess_collapse_repeated:bool=false; ctc_merge_repeated:bool=true; "
             "ignore_longer_outputs_than_inputs:bool=false; T:type{float,double}=float",
    .shape = loss_shape,
    .gradient = loss_gradient,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(loss_state),
                           .create = loss_create,
                           .run = loss_run}),
    .doc = "Computes -log of the probability of each sequence of labels by connectionist temporal "
           "classification, and its gradient by the logits. The last class is the blank.",
};
