// Streaming metrics of the k best predictions against sets of labels: precision, recall, average precision.
//
// Sets are the last dimension of a tensor. Set operations make sparse tensors of them, and SetSize counts the
// elements of each set.
#include "train/layers/metrics_common.h"

#include "base/alloc.h"

// A metric at k while it is built.
typedef struct at_k {
    braid_graph *g;
    const char *what;
    braid_metric_options o;
    int k;
    braid_sparse labels; // int64; dense: `values` alone
    braid_out best;      // class numbers [..., k], int64
    braid_shape outer;   // the shape without the last dimension
} at_k;

// ---- Sets ----

static bool is_dense(braid_sparse x)
{
    return !x.indices.op;
}

static braid_sparse dense_set(braid_out values)
{
    return (braid_sparse){.values = values};
}

static void put_set(braid_op_desc *d, braid_sparse x)
{
    if (!is_dense(x)) braid_op_input(d, x.indices);
    braid_op_input(d, x.values);
    if (!is_dense(x)) braid_op_input(d, x.dense_shape);
}

// `operation` is "intersection", "a-b" or "b-a". A dense set comes first.
static braid_sparse set_operation(braid_graph *g, const char *operation, braid_sparse a, braid_sparse b)
{
    const char *op_type = is_dense(b)   ? "DenseToDenseSetOperation"
                          : is_dense(a) ? "DenseToSparseSetOperation"
                                        : "SparseToSparseSetOperation";
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    put_set(d, a);
    put_set(d, b);
    braid_op_attr_string(d, "set_operation", operation);
    braid_op *op = braid_op_end(d);
    if (!op) return (braid_sparse){.indices = BRAID_NONE};
    return (braid_sparse){braid_output(op, 0), braid_output(op, 1), braid_output(op, 2)};
}

// The shape of a dense tensor as int64.
static braid_out wide_shape(braid_graph *g, braid_out x)
{
    return braid_cast(g, train_shape_of(g, x), BRAID_INT64);
}

// [..., 1] of the class, for sets [..., n].
static braid_out class_everywhere(braid_graph *g, braid_out sets, int64_t class_id)
{
    const int rank = braid_out_shape(sets).rank;
    const braid_out of_sets = train_shape_of(g, sets);
    const braid_out dims[] = {braid_slice(g, of_sets, (int64_t[]){0}, BRAID_SHAPE(rank - 1)),
                              braid_const_int32s(g, NULL, &(int32_t){1}, 1)};
    return train_node2(g, "Fill", NULL, braid_concat(g, dims, 2, 0), braid_const_int64(g, NULL, class_id));
}

// Leaves one class in each set that has it, and nothing else.
static braid_sparse select_class(braid_graph *g, braid_sparse sets, int64_t class_id)
{
    if (is_dense(sets)) {
        const braid_out wanted = class_everywhere(g, sets.values, class_id);
        braid_sparse found = set_operation(g, "intersection", dense_set(wanted), sets);
        found.dense_shape = wide_shape(g, sets.values);
        return found;
    }
    const braid_out are_wanted = braid_equal(g, sets.values, braid_const_int64(g, NULL, class_id));
    const braid_out where = braid_reshape(g, train_node1(g, "Where", NULL, are_wanted), BRAID_SHAPE(-1));
    sets.indices = braid_gather(g, sets.indices, where);
    sets.values = braid_gather(g, sets.values, where);
    return sets;
}

// How many elements each set has, double.
static braid_out size_of_sets(const at_k *m, braid_sparse sets)
{
    braid_op_desc *d = braid_op_begin(m->g, "SetSize", NULL);
    put_set(d, sets);
    const braid_out size = braid_op_end_out(d);
    if (size.op) braid_set_shape(size, m->outer);
    return braid_cast(m->g, size, BRAID_DOUBLE);
}

// ---- Beginning ----

// Labels [...] of predictions [..., k] become [..., 1].
static braid_sparse as_sets(braid_graph *g, braid_sparse labels, int rank)
{
    if (is_dense(labels)) {
        const bool is_single = braid_out_shape(labels.values).rank == rank - 1;
        labels.values = braid_cast(g, labels.values, BRAID_INT64);
        if (is_single) labels.values = braid_expand_dims(g, labels.values, -1);
    }
    return labels;
}

static bool check(braid_graph *g, const char *what, braid_sparse labels, braid_out predictions, int k)
{
    if (braid_graph_status(g, NULL)) return false;
    const int rank = braid_out_shape(predictions).rank;
    if (!predictions.op || !labels.values.op || (labels.indices.op && !labels.dense_shape.op))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the %s are nothing", what,
                         predictions.op ? "labels" : "predictions");
    else if (k < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: k is %d", what, k);
    else if (rank < 2)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: the predictions '%s' must have a known rank, at least 2", what,
                         braid_op_name(predictions.op));
    const int of_labels = braid_out_shape(labels.values).rank;
    if (!braid_graph_status(g, NULL) && is_dense(labels) && of_labels != rank && of_labels != rank - 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: the labels '%s' must have the rank of the predictions '%s' or one less", what,
                         braid_op_name(labels.values.op), braid_op_name(predictions.op));
    return !braid_graph_status(g, NULL);
}

// "precision_at_2", or "precision_at_2_class7"; the caller frees it.
static char *name_at_k(const at_k *m, const char *name)
{
    return m->o.has_class ? bd_asprintf("%s_at_%d_class%lld", name, m->k, (long long)m->o.class_id)
                          : bd_asprintf("%s_at_%d", name, m->k);
}

// Enters the scope of the metric, which it returns and the caller leaves; NULL: the graph has failed.
static const char *begin(at_k *m, braid_sparse labels, braid_out predictions,
                         const braid_metric_options *options)
{
    braid_graph *g = m->g;
    if (options) m->o = *options;
    if (!check(g, m->what, labels, predictions, m->k)) return NULL;
    char *name = name_at_k(m, m->what);
    const char *scope = braid_push_name_scope(g, m->o.name ? m->o.name : name);
    bd_free(name);
    m->outer = braid_out_shape(predictions);
    m->labels = as_sets(g, labels, m->outer.rank--);
    braid_out values, indices;
    braid_top_k(g, predictions, m->k, &values, &indices);
    m->best = braid_cast(g, indices, BRAID_INT64);
    return scope;
}

// A local variable of the metric and the sum of `values` that is added to it, in a scope of its own.
static void stream(const at_k *m, const char *name, braid_out values, braid_out *ref, braid_out *updated)
{
    braid_graph *g = m->g;
    const char *scope = braid_push_name_scope(g, name);
    const braid_out batch = train_sum_named(g, NULL, values);
    *updated = BRAID_NONE;
    *ref = scope && batch.op ? train_metric_variable(g, scope, BRAID_DOUBLE, BRAID_SCALAR) : BRAID_NONE;
    if (ref->op) {
        braid_push_colocate(g, ref->op);
        *updated = train_node2(g, "AssignAdd", "update", *ref, batch);
        braid_pop_colocate(g);
    }
    braid_pop_name_scope(g);
}

static braid_out weigh(const at_k *m, braid_out values)
{
    if (!m->o.weights.op) return values;
    const braid_out weights = train_check_weights(m->g, m->what, m->o.weights, values);
    return train_node2(m->g, "Mul", NULL, values, braid_cast(m->g, weights, BRAID_DOUBLE));
}

// ---- Precision and recall ----

// The weighted sizes of the sets that `operation` makes of predictions and labels.
static void stream_sets(const at_k *m, const char *name, const char *operation, braid_out *ref,
                        braid_out *updated)
{
    char *full = name_at_k(m, name);
    braid_sparse best = dense_set(m->best), labels = m->labels;
    if (m->o.has_class) {
        best = select_class(m->g, best, m->o.class_id);
        labels = select_class(m->g, labels, m->o.class_id);
    }
    const braid_out sizes = size_of_sets(m, set_operation(m->g, operation, best, labels));
    stream(m, full, weigh(m, sizes), ref, updated);
    bd_free(full);
}

// The share of the true positives in them and what `operation` makes.
static braid_metric share_at_k(at_k *m, const char *other, const char *operation, braid_sparse labels,
                               braid_out predictions, const braid_metric_options *options)
{
    braid_graph *g = m->g;
    braid_metric result = {0};
    const char *scope = begin(m, labels, predictions, options);
    if (!scope) return result;
    braid_out hits, others, new_hits, new_others;
    stream_sets(m, "true_positive", "intersection", &hits, &new_hits);
    stream_sets(m, other, operation, &others, &new_others);
    if (new_hits.op && new_others.op) {
        result.value = train_node2(g, "RealDiv", scope, hits, braid_add(g, hits, others));
        result.update = train_node2(g, "RealDiv", "update", new_hits, braid_add(g, new_hits, new_others));
    }
    braid_pop_name_scope(g);
    return result;
}

braid_metric braid_metric_precision_at_k(braid_graph *g, braid_sparse labels, braid_out predictions, int k,
                                         const braid_metric_options *options)
{
    at_k m = {.g = g, .what = "precision", .k = k};
    return share_at_k(&m, "false_positive", "a-b", labels, predictions, options);
}

braid_metric braid_metric_recall_at_k(braid_graph *g, braid_sparse labels, braid_out predictions, int k,
                                      const braid_metric_options *options)
{
    at_k m = {.g = g, .what = "recall", .k = k};
    return share_at_k(&m, "false_negative", "b-a", labels, predictions, options);
}

// ---- Average precision ----

// 1 for each of the best predictions [..., k] that is a label, else 0; double. Places without a label are -1.
static braid_out relevance(const at_k *m)
{
    braid_graph *g = m->g;
    braid_out labels = m->labels.values;
    if (!is_dense(m->labels)) {
        braid_op_desc *d = braid_op_begin(g, "SparseToDense", NULL);
        braid_op_input(d, m->labels.indices);
        braid_op_input(d, m->labels.dense_shape);
        braid_op_input(d, labels);
        braid_op_input(d, braid_const_int64(g, NULL, -1));
        labels = braid_op_end_out(d);
    }
    const braid_out same =
        braid_equal(g, braid_expand_dims(g, m->best, -1), braid_expand_dims(g, labels, -2));
    return braid_cast(g, braid_reduce(g, "Any", same, &(int32_t){-1}, 1, false), BRAID_DOUBLE);
}

// How many of the best predictions can be labels at most.
static braid_out possible_hits(const at_k *m)
{
    braid_graph *g = m->g;
    if (!is_dense(m->labels))
        return train_op_number(g, "Minimum", "num_relevant", size_of_sets(m, m->labels), m->k);
    const braid_out size = train_element(g, train_shape_of(g, m->labels.values), m->outer.rank);
    return braid_cast(g, train_op_number(g, "Minimum", "num_relevant", size, m->k), BRAID_DOUBLE);
}

// The mean over the possible hits of the precision up to each hit.
static braid_out average_precision(const at_k *m)
{
    braid_graph *g = m->g;
    (void)braid_push_name_scope(g, "average_precision");
    const braid_out hits = relevance(m);
    const braid_out ranks =
        braid_cast(g, train_op_number(g, "Add", "add", train_range(g, braid_const_int32(g, NULL, m->k)), 1),
                   BRAID_DOUBLE);
    const braid_out precisions = braid_div(g, braid_cumsum(g, hits, -1, false, false), ranks);
    const braid_out sum = braid_reduce(g, "Sum", braid_mul(g, hits, precisions), &(int32_t){-1}, 1, false);
    const braid_out average = braid_div(g, sum, possible_hits(m));
    braid_pop_name_scope(g);
    if (average.op) braid_set_shape(average, m->outer);
    return average;
}

braid_metric braid_metric_average_precision_at_k(braid_graph *g, braid_sparse labels, braid_out predictions,
                                                 int k, const braid_metric_options *options)
{
    at_k m = {.g = g, .what = "average_precision", .k = k};
    braid_metric result = {0};
    const char *scope = begin(&m, labels, predictions, options);
    if (!scope) return result;
    const braid_out average = average_precision(&m);
    if (average.op) {
        braid_out total, max, new_total, new_max;
        stream(&m, "max", weigh(&m, braid_ones_like(g, average)), &max, &new_max);
        stream(&m, "total", weigh(&m, average), &total, &new_total);
        if (new_total.op && new_max.op) {
            result.value = train_node2(g, "DivNoNan", "mean", total, max);
            result.update = train_node2(g, "DivNoNan", scope, new_total, new_max);
        }
    }
    braid_pop_name_scope(g);
    return result;
}
