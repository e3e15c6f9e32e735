// Losses against sampled classes, in TensorFlow's nodes.
//
// The true classes of the batch and the drawn ones are looked up together; true logits are products row by
// row, those of drawn classes one matrix product. Logits are corrected by the logarithm of the expected
// counts.
#include <braid/candidate_sampling.h>

#include "train/common/build.h"

// A loss while it is built.
typedef struct sampled {
    braid_graph *g;
    const braid_sampled_loss *loss;
    const char *what;
    int64_t num_true, dim;
    bool remove_hits;
    braid_out labels, flat; // int64: [batch, num_true], and [batch * num_true]
    braid_out num_flat;     // the shape of `flat`, [1]
    braid_out classes;      // drawn, int64
    braid_candidates drawn; // without gradients
    braid_out true_logits, sampled_logits;
} sampled;

// ---- What is given ----

static bool is_given(const braid_variable *v)
{
    return v->ref.op || v->read.op || v->part_count > 0;
}

static bool check(sampled *s)
{
    const braid_sampled_loss *l = s->loss;
    if (braid_graph_status(s->g, NULL)) return false;
    const char *missing = NULL;
    if (!l || !is_given(&l->weights))
        missing = "weights";
    else if (!is_given(&l->biases))
        missing = "biases";
    else if (!l->labels.op)
        missing = "labels";
    else if (!l->inputs.op)
        missing = "inputs";
    if (missing) {
        braid_graph_fail(s->g, BRAID_INVALID_ARGUMENT, "%s: the %s are nothing", s->what, missing);
        return false;
    }
    const braid_shape labels = braid_out_shape(l->labels), inputs = braid_out_shape(l->inputs);
    if (labels.rank != 2 || labels.dims[1] < 1 || inputs.rank != 2 || inputs.dims[1] < 0) {
        braid_graph_fail(
            s->g, BRAID_INVALID_ARGUMENT,
            "%s: labels '%s' and inputs '%s' must be matrices [batch, num_true] and [batch, dim] "
            "with known numbers of columns",
            s->what, braid_op_name(l->labels.op), braid_op_name(l->inputs.op));
        return false;
    }
    s->num_true = labels.dims[1];
    s->dim = inputs.dims[1];
    return true;
}

// Rows of a table: of a value, a variable or its parts.
static braid_out look_up(const sampled *s, const braid_variable *table, braid_out ids)
{
    if (table->part_count > 0)
        return braid_embedding_lookup_parts(s->g, table->parts, table->part_count, ids,
                                            s->loss->partition_strategy);
    if (table->ref.op) return braid_embedding_lookup(s->g, table->ref, ids);
    return train_gather(s->g, NULL, table->read, ids);
}

// ---- Small pieces ----

static braid_out stop_gradient(braid_graph *g, const char *name, braid_out x)
{
    return train_node1(g, "StopGradient", name, x);
}

static braid_out matmul(braid_graph *g, braid_out a, braid_out b, bool transpose_b)
{
    braid_op_desc *d = braid_op_begin(g, "MatMul", NULL);
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, "transpose_b", transpose_b);
    return braid_op_end_out(d);
}

// [count, second]
static braid_out pack(braid_graph *g, braid_out count, int32_t second)
{
    const braid_out first = train_first_of(g, count);
    const char *scope = braid_push_name_scope(g, "stack");
    const braid_out dims[2] = {first, braid_const_int32(g, "1", second)};
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "Pack", scope);
    braid_op_input_list(d, dims, 2);
    return braid_op_end_out(d);
}

// The first rows of x, up to `size`; and those from `begin` on.
static braid_out head_of(braid_graph *g, braid_out x, int rank, braid_out size)
{
    const char *scope = braid_push_name_scope(g, "Slice");
    const braid_out begin = braid_const_int32s(g, "begin", (const int32_t[]){0, 0}, rank);
    braid_pop_name_scope(g);
    return train_node3(g, "Slice", scope, x, begin, size);
}

static braid_out tail_of(braid_graph *g, braid_out x, int rank, braid_out begin)
{
    const char *scope = braid_push_name_scope(g, "Slice");
    const braid_out size = braid_const_int32s(g, "size", (const int32_t[]){-1, -1}, rank);
    braid_pop_name_scope(g);
    return train_node3(g, "Slice", scope, x, begin, size);
}

// The sums of the rows of a matrix of `columns` columns.
static braid_out sum_rows(braid_graph *g, braid_out x, int64_t columns)
{
    const braid_out ones = braid_ones(g, BRAID_FLOAT, BRAID_SHAPE(columns, 1));
    return braid_reshape(g, braid_matmul(g, x, ones), BRAID_SHAPE(-1));
}

// ---- Logits ----

static void draw(sampled *s)
{
    const braid_sampled_loss *l = s->loss;
    s->labels = braid_cast(s->g, l->labels, BRAID_INT64);
    s->flat = braid_reshape(s->g, s->labels, BRAID_SHAPE(-1));
    s->drawn = l->candidates;
    if (!s->drawn.sampled.op)
        s->drawn =
            braid_log_uniform_candidate_sampler(s->g, &(braid_sampler_options){.true_classes = s->labels,
                                                                               .num_sampled = l->num_sampled,
                                                                               .range_max = l->num_classes,
                                                                               .has_seed = l->has_seed,
                                                                               .seed = l->seed});
    if (braid_graph_status(s->g, NULL)) return;
    s->drawn.sampled = stop_gradient(s->g, NULL, s->drawn.sampled);
    s->drawn.true_expected_count = stop_gradient(s->g, NULL, s->drawn.true_expected_count);
    s->drawn.sampled_expected_count = stop_gradient(s->g, NULL, s->drawn.sampled_expected_count);
    s->classes = braid_cast(s->g, s->drawn.sampled, BRAID_INT64);
    s->num_flat = train_shape_of(s->g, s->flat);
}

static void multiply(sampled *s)
{
    braid_graph *g = s->g;
    const braid_out inputs = s->loss->inputs;
    const braid_out both[2] = {s->flat, s->classes}, all = braid_concat(g, both, 2, 0);
    const braid_out w = look_up(s, &s->loss->weights, all);
    const braid_out true_w = head_of(g, w, 2, pack(g, s->num_flat, -1));
    const braid_out sampled_w = tail_of(g, w, 2, pack(g, s->num_flat, 0));
    s->sampled_logits = matmul(g, inputs, sampled_w, true);
    const braid_out b = look_up(s, &s->loss->biases, all);
    const braid_out true_b = head_of(g, b, 1, s->num_flat);
    const braid_out sampled_b = tail_of(g, b, 1, s->num_flat);
    const braid_out by_example = braid_reshape(g, true_w, BRAID_SHAPE(-1, s->num_true, s->dim));
    const braid_out products = train_node2(g, "Mul", NULL, braid_expand_dims(g, inputs, 1), by_example);
    const braid_out dots = sum_rows(g, braid_reshape(g, products, BRAID_SHAPE(-1, s->dim)), s->dim);
    s->true_logits = braid_reshape(g, dots, BRAID_SHAPE(-1, s->num_true));
    s->true_logits = braid_add(g, s->true_logits, braid_reshape(g, true_b, BRAID_SHAPE(-1, s->num_true)));
    s->sampled_logits = braid_add(g, s->sampled_logits, sampled_b);
}

// Adds the least float to the logits of drawn classes that are true ones.
static void remove_hits(sampled *s)
{
    braid_graph *g = s->g;
    braid_op_desc *d = braid_op_begin(g, "ComputeAccidentalHits", NULL);
    braid_op_input(d, s->labels);
    braid_op_input(d, s->classes);
    braid_op_attr_int(d, "num_true", s->num_true);
    braid_op *hits = braid_op_end(d);
    if (!hits) return;
    const braid_out rows = braid_reshape(g, braid_output(hits, 0), BRAID_SHAPE(-1, 1));
    const braid_out columns = braid_cast(g, braid_output(hits, 1), BRAID_INT32);
    const braid_out both[2] = {rows, braid_reshape(g, columns, BRAID_SHAPE(-1, 1))};
    const braid_out places = braid_concat(g, both, 2, 1);
    const braid_out shape = train_node1(g, "Shape", NULL, s->sampled_logits);
    const char *scope = braid_push_name_scope(g, "SparseToDense");
    const braid_out zero = braid_const_float(g, "default_value", 0);
    braid_pop_name_scope(g);
    d = braid_op_begin(g, "SparseToDense", scope);
    braid_op_input(d, places);
    braid_op_input(d, shape);
    braid_op_input(d, braid_output(hits, 2));
    braid_op_input(d, zero);
    braid_op_attr_bool(d, "validate_indices", false);
    s->sampled_logits = braid_add(g, s->sampled_logits, braid_op_end_out(d));
}

// In the scope of the loss: logits [batch, num_true + num_sampled], and the labels for them.
static void compute_logits(sampled *s, braid_out *logits, braid_out *labels)
{
    braid_graph *g = s->g;
    draw(s);
    if (braid_graph_status(g, NULL)) return;
    multiply(s);
    if (s->remove_hits) remove_hits(s);
    s->true_logits = braid_sub(g, s->true_logits, braid_log(g, s->drawn.true_expected_count));
    s->sampled_logits = braid_sub(g, s->sampled_logits, braid_log(g, s->drawn.sampled_expected_count));
    const braid_out values[2] = {s->true_logits, s->sampled_logits};
    *logits = braid_concat(g, values, 2, 1);
    const braid_out ones = train_node1(g, "OnesLike", "ones_like", s->true_logits);
    const braid_out share = train_op_number(g, "RealDiv", "truediv", ones, (double)s->num_true);
    const braid_out targets[2] = {share, train_node1(g, "ZerosLike", "zeros_like", s->sampled_logits)};
    *labels = braid_concat(g, targets, 2, 1);
}

// ---- Losses ----

braid_out braid_nce_loss(braid_graph *g, const braid_sampled_loss *loss)
{
    sampled s = {.g = g, .loss = loss, .what = "nce_loss"};
    if (!check(&s)) return BRAID_NONE;
    s.remove_hits = loss->accidental_hits == BRAID_HITS_REMOVE;
    braid_out logits = BRAID_NONE, labels = BRAID_NONE;
    (void)braid_push_name_scope(g, loss->name ? loss->name : s.what);
    compute_logits(&s, &logits, &labels);
    braid_pop_name_scope(g);
    if (!logits.op || !labels.op) return BRAID_NONE;
    const braid_out losses = train_sigmoid_cross_entropy(g, "sampled_losses", logits, labels);
    const int64_t columns = braid_out_shape(logits).dims[1];
    return sum_rows(g, losses, columns);
}

braid_out braid_sampled_softmax_loss(braid_graph *g, const braid_sampled_loss *loss)
{
    sampled s = {.g = g, .loss = loss, .what = "sampled_softmax_loss"};
    if (!check(&s)) return BRAID_NONE;
    s.remove_hits = loss->accidental_hits != BRAID_HITS_KEEP;
    braid_out logits = BRAID_NONE, labels = BRAID_NONE;
    (void)braid_push_name_scope(g, loss->name ? loss->name : s.what);
    compute_logits(&s, &logits, &labels);
    braid_pop_name_scope(g);
    if (!logits.op || !labels.op) return BRAID_NONE;
    return braid_softmax_cross_entropy(g, logits, stop_gradient(g, "labels_stop_gradient", labels));
}
