// The statistics of a leaf as messages: FertileSlot.
#include "ops/tensor_forest/slot.h"

#include "ops/tensor_forest/gini.h"
#include "proto/pack.h"
#include "tensorflow/contrib/tensor_forest/proto/fertile_stats.pb-c.h"

typedef Tensorflow__Tensorforest__FertileSlot slot_message;
typedef Tensorflow__Tensorforest__LeafStat stat_message;
typedef Tensorflow__Tensorforest__LeafStat__GiniImpurityClassificationStats classes_message;

// The numbers of the fields of oneof `counts`; protobuf-c's names of them are longer than a line.
enum {
    DENSE_COUNTS = 1,
    SPARSE_COUNTS = 2
};

// ---- Reading ----

static braid_code fail_slot(const slot_message *m, const char *what, braid_status *st)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The statistics of node %d %s", m->node_id, what);
}

// Reads num_outputs values.
static braid_code read_values(const bd_rf_slot *s, const slot_message *m,
                              const Tensorflow__DecisionTrees__Vector *values, float *to, braid_status *st)
{
    bd_rf_counts counts = {0};
    const size_t outputs = (size_t)s->p->num_outputs;
    if (!values || values->n_value != outputs)
        return fail_slot(m, "do not have as many values as there are outputs", st);
    const braid_code code = bd_rf_vector_read(&counts, values, st);
    for (size_t i = 0; !code && i < outputs; i++)
        to[i] = counts.items[i].value;
    bd_array_free(&counts);
    return code;
}

static const Tensorflow__DecisionTrees__Vector *dense_of(const stat_message *m)
{
    if (!m || m->leaf_stat_case != TENSORFLOW__TENSORFOREST__LEAF_STAT__LEAF_STAT_CLASSIFICATION) return NULL;
    const classes_message *c = m->classification;
    return (int)c->counts_case == DENSE_COUNTS ? c->dense_counts : NULL;
}

// Reads the counts of a sparse message, if it has some.
static braid_code read_sparse(const bd_rf_slot *s, const slot_message *m, const stat_message *stat,
                              bd_rf_counts *counts, braid_status *st)
{
    if (!stat || stat->leaf_stat_case != TENSORFLOW__TENSORFOREST__LEAF_STAT__LEAF_STAT_CLASSIFICATION ||
        (int)stat->classification->counts_case != SPARSE_COUNTS)
        return BRAID_OK;
    if (bd_rf_sparse_vector_read(counts, stat->classification->sparse_counts, st)) return st->code;
    for (size_t i = 0; i < counts->len; i++)
        if (counts->items[i].key < 0 || counts->items[i].key >= s->p->num_outputs)
            return fail_slot(m, "have a class beyond num_outputs", st);
    return BRAID_OK;
}

static braid_code read_regression(const bd_rf_slot *s, const slot_message *m, const stat_message *stat,
                                  float *sums, float *squares, braid_status *st)
{
    if (!stat || stat->leaf_stat_case != TENSORFLOW__TENSORFOREST__LEAF_STAT__LEAF_STAT_REGRESSION)
        return fail_slot(m, "are not those of a regression", st);
    return read_values(s, m, stat->regression->mean_output, sums, st)
               ? st->code
               : read_values(s, m, stat->regression->mean_output_squares, squares, st);
}

// The running statistics follow from the counts.
static void start_running(const bd_rf_slot *s, bd_rf_candidate *k)
{
    for (int side = 0; side < 2 && s->p->has_running_stats; side++)
        for (int32_t i = 0; i < s->p->num_outputs; i++) {
            const float count = bd_rf_side_count(s, k, side, i);
            k->sums[side] += count;
            k->squares[side] += count * count;
        }
}

static braid_code read_candidate(bd_rf_slot *s, const slot_message *m,
                                 const Tensorflow__Tensorforest__SplitCandidate *from, braid_status *st)
{
    bd_rf_test test;
    if (!from->split) return fail_slot(m, "have a candidate without a split", st);
    if ((int64_t)s->candidates.len >= s->splits_to_consider)
        return fail_slot(m, "have more candidates than num_splits_to_consider", st);
    if (bd_rf_test_read(&test, from->split, st) || bd_rf_slot_add_candidate(s, &test, NULL, 0, st))
        return st->code;
    bd_rf_candidate *k = &s->candidates.items[s->candidates.len - 1];
    switch (s->p->stats_type) {
    case BD_RF_STATS_DENSE:
        if (read_values(s, m, dense_of(from->left_stats), k->left, st)) return st->code;
        break;
    case BD_RF_STATS_REGRESSION:
        if (read_regression(s, m, from->left_stats, k->left, k->left_squares, st)) return st->code;
        if (!(from->left_stats->weight_sum >= 0 && from->left_stats->weight_sum < 1e18F))
            return fail_slot(m, "have a number of examples that is out of range", st);
        k->left_examples = (int64_t)from->left_stats->weight_sum;
        break;
    default:
        if (read_sparse(s, m, from->left_stats, &k->sparse[0].counts, st)) return st->code;
        if (s->p->stats_type == BD_RF_STATS_SPARSE) break;
        if (read_sparse(s, m, from->right_stats, &k->sparse[1].counts, st)) return st->code;
        for (int side = 0; side < 2; side++) {
            if (k->sparse[side].counts.len > (size_t)s->p->classes_to_track)
                return fail_slot(m, "have more classes than num_classes_to_track", st);
            bd_rf_fixed_update(&k->sparse[side], s->p->classes_to_track);
        }
    }
    start_running(s, k);
    return BRAID_OK;
}

braid_code bd_rf_slot_read(bd_rf_slot *s, const slot_message *m, braid_status *st)
{
    const stat_message *stat = m->post_init_leaf_stats;
    if (!stat) return BRAID_OK;
    s->weight_sum = stat->weight_sum;
    switch (s->p->stats_type) {
    case BD_RF_STATS_DENSE:
        if (read_values(s, m, dense_of(stat), s->totals, st)) return st->code;
        for (int32_t i = 0; i < s->p->num_outputs; i++)
            s->class_count += s->totals[i] != 0;
        break;
    case BD_RF_STATS_REGRESSION:
        if (read_regression(s, m, stat, s->totals, s->total_squares, st)) return st->code;
        break;
    default:
        if (read_sparse(s, m, stat, &s->sparse_totals, st)) return st->code;
        s->class_count = s->sparse_totals.len < 2 ? (int)s->sparse_totals.len : 2;
    }
    for (size_t i = 0; i < m->n_candidates; i++)
        if (read_candidate(s, m, m->candidates[i], st)) return st->code;
    return BRAID_OK;
}

// ---- Writing ----

// Floats as a Vector.
typedef struct floats {
    const float *items;
    int32_t count;
} floats;

static void put_value(bd_message_out *out, const void *arg)
{
    bd_emit_float(out, 1, *(const float *)arg);
}

static void put_floats(bd_message_out *out, const void *arg)
{
    const floats *f = arg;
    for (int32_t i = 0; i < f->count; i++)
        bd_emit_message(out, 1, put_value, &f->items[i]);
}

// What a LeafStat has.
typedef struct stat {
    float weight_sum;
    const floats *dense, *sums, *squares;
    const bd_rf_counts *sparse;
} stat;

static void put_classes(bd_message_out *out, const void *arg)
{
    const stat *s = arg;
    if (s->dense) bd_emit_message(out, 1, put_floats, s->dense);
    if (s->sparse) bd_emit_message(out, 2, bd_rf_put_sparse_vector, s->sparse);
}

static void put_regression(bd_message_out *out, const void *arg)
{
    const stat *s = arg;
    bd_emit_message(out, 1, put_floats, s->sums);
    bd_emit_message(out, 2, put_floats, s->squares);
}

static void put_stat(bd_message_out *out, const void *arg)
{
    const stat *s = arg;
    if (s->dense || s->sparse) bd_emit_message(out, 1, put_classes, s);
    if (s->sums) bd_emit_message(out, 2, put_regression, s);
    if (s->weight_sum != 0) bd_emit_float(out, 3, s->weight_sum);
}

typedef struct candidate_ref {
    const bd_rf_slot *slot;
    const bd_rf_candidate *candidate;
} candidate_ref;

static void put_candidate(bd_message_out *out, const void *arg)
{
    const candidate_ref *ref = arg;
    const bd_rf_candidate *k = ref->candidate;
    const floats left = {k->left, ref->slot->p->num_outputs}, squares = {k->left_squares, left.count};
    bd_rf_test test = k->test;
    test.threshold = k->threshold;
    bd_emit_message(out, 1, bd_rf_put_test, &test);
    switch (ref->slot->p->stats_type) {
    case BD_RF_STATS_DENSE: bd_emit_message(out, 4, put_stat, &(stat){.dense = &left}); break;
    case BD_RF_STATS_REGRESSION:
        bd_emit_message(out, 4, put_stat,
                        &(stat){.weight_sum = (float)k->left_examples, .sums = &left, .squares = &squares});
        break;
    default:
        bd_emit_message(out, 4, put_stat, &(stat){.sparse = &k->sparse[0].counts});
        if (ref->slot->p->stats_type == BD_RF_STATS_FIXED_SIZE)
            bd_emit_message(out, 5, put_stat, &(stat){.sparse = &k->sparse[1].counts});
    }
}

static void put_totals(bd_message_out *out, const void *arg)
{
    const bd_rf_slot *s = arg;
    const floats totals = {s->totals, s->p->num_outputs}, squares = {s->total_squares, s->p->num_outputs};
    stat st = {.weight_sum = s->weight_sum};
    switch (s->p->stats_type) {
    case BD_RF_STATS_DENSE: st.dense = &totals; break;
    case BD_RF_STATS_SPARSE: st.sparse = &s->sparse_totals; break;
    case BD_RF_STATS_REGRESSION:
        st.sums = &totals;
        st.squares = &squares;
        break;
    default: break;
    }
    put_stat(out, &st);
}

void bd_rf_put_slot(bd_message_out *out, const void *slot_ref)
{
    const bd_rf_slot_ref *ref = slot_ref;
    const bd_rf_slot *s = ref->slot;
    for (size_t i = 0; s->p->saves_stats && i < s->candidates.len; i++) {
        const candidate_ref candidate = {s, &s->candidates.items[i]};
        bd_emit_message(out, 1, put_candidate, &candidate);
    }
    if (ref->node != 0) bd_emit_int(out, 5, ref->node);
    if (s->p->saves_stats) bd_emit_message(out, 6, put_totals, s);
    if (s->depth != 0) bd_emit_int(out, 7, s->depth);
}
