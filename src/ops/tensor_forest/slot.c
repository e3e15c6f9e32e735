// The statistics of a leaf that may be split.
#include "ops/tensor_forest/slot.h"

#include "ops/tensor_forest/gini.h"
#include <float.h>
#include <math.h>
#include <string.h>

static bool is_regression(const bd_rf_slot *s)
{
    return s->p->stats_type == BD_RF_STATS_REGRESSION;
}

static bool has_dense_counts(const bd_rf_slot *s)
{
    return s->p->stats_type == BD_RF_STATS_DENSE || is_regression(s);
}

// ---- Making ----

// Counts the arrays of so many candidates.
static braid_code charge(bd_rf_slot *s, size_t candidates, braid_status *st)
{
    const size_t arrays = has_dense_counts(s) ? (candidates + 1) * (is_regression(s) ? 2 : 1) : 0;
    return bd_charge_set(&s->charge, arrays * sizeof(float) * (size_t)s->p->num_outputs,
                         "The statistics of a leaf", st);
}

static braid_code set_schedule(bd_rf_slot *s, braid_status *st)
{
    const bd_rf_params *p = s->p;
    const bool needs_fraction = p->finish != BD_RF_FINISH_BASIC || p->pruning == BD_RF_PRUNE_HOEFFDING;
    s->finish_epoch = s->prune_epoch = 1;
    if (needs_fraction) {
        s->dominate_fraction = bd_rf_resolve(&p->dominate_fraction, s->depth);
        if (!(s->dominate_fraction > 0 && s->dominate_fraction <= 1))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid dominate fraction %g",
                           (double)s->dominate_fraction);
    }
    if (p->finish != BD_RF_FINISH_BASIC) {
        s->min_split_samples = bd_rf_resolve_int(&p->min_split_samples, s->depth);
        s->finish_every = bd_rf_resolve_int(&p->check_every, s->depth);
        if (s->finish_every < 1)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "finish_type.check_every_steps must be positive, got %d", s->finish_every);
        s->finish_epoch = s->min_split_samples / s->finish_every;
    }
    if (p->pruning != BD_RF_PRUNE_NONE) s->prune_every = bd_rf_resolve_int(&p->prune_every, s->depth);
    return BRAID_OK;
}

braid_code bd_rf_slot_new(bd_rf_slot **slot, const bd_rf_params *p, int32_t depth, braid_status *st)
{
    const size_t outputs = (size_t)p->num_outputs;
    bd_rf_slot *s = bd_try_calloc(1, sizeof *s);
    if (!s) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for the statistics of a node");
    s->p = p;
    s->depth = depth;
    s->split_after = bd_rf_resolve_int(&p->split_after, depth);
    s->splits_to_consider = bd_rf_resolve_int(&p->splits_to_consider, depth);
    braid_code code = BRAID_OK;
    if (!is_regression(s)) code = set_schedule(s, st);
    if (!code) code = charge(s, 0, st);
    if (!code && has_dense_counts(s)) {
        s->totals = bd_try_calloc(outputs, sizeof *s->totals);
        if (is_regression(s)) s->total_squares = bd_try_calloc(outputs, sizeof *s->total_squares);
        if (!s->totals || (is_regression(s) && !s->total_squares))
            code =
                bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for the statistics of %zu outputs", outputs);
    }
    if (code) {
        bd_rf_slot_free(s);
        return code;
    }
    *slot = s;
    return BRAID_OK;
}

void bd_rf_slot_free(bd_rf_slot *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->candidates.len; i++)
        bd_rf_candidate_fini(s, &s->candidates.items[i]);
    bd_array_free(&s->candidates);
    bd_array_free(&s->sparse_totals);
    bd_free(s->totals);
    bd_free(s->total_squares);
    bd_charge_fini(&s->charge);
    bd_free(s);
}

bool bd_rf_slot_is_initialized(const bd_rf_slot *s)
{
    return s->weight_sum > 0 || ((int64_t)s->candidates.len >= s->splits_to_consider && s->to_average == 0);
}

bool bd_rf_slot_is_finished(const bd_rf_slot *s)
{
    const bool has_enough = s->weight_sum >= (float)s->split_after;
    if (is_regression(s)) return has_enough;
    return (has_enough && s->class_count > 1) || s->is_finished_early;
}

// ---- Candidates ----

braid_code bd_rf_slot_add_candidate(bd_rf_slot *s, bd_rf_test *test, const bd_rf_target *target, int64_t row,
                                    braid_status *st)
{
    bd_rf_candidate k = {.first_class = -1};
    const size_t outputs = (size_t)s->p->num_outputs;
    if ((int64_t)s->candidates.len >= s->splits_to_consider || charge(s, s->candidates.len + 1, st)) {
        bd_rf_test_free(test);
        return st->code;
    }
    if (has_dense_counts(s)) k.left = bd_try_calloc(outputs, sizeof *k.left);
    if (is_regression(s)) k.left_squares = bd_try_calloc(outputs, sizeof *k.left_squares);
    if ((has_dense_counts(s) && !k.left) || (is_regression(s) && !k.left_squares)) {
        bd_rf_test_free(test);
        bd_free(k.left);
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a candidate of %zu outputs", outputs);
    }
    if (target && s->p->averages_splits && !is_regression(s) && test->kind != BD_RF_MATCHING) {
        k.first_class = bd_rf_class(target, row);
        s->to_average++;
    }
    k.test = *test;
    k.threshold = test->threshold;
    *test = (bd_rf_test){0};
    bd_array_push(&s->candidates, k);
    return BRAID_OK;
}

bool bd_rf_slot_average(bd_rf_slot *s, const bd_rf_data *data, const bd_rf_target *target, int64_t row)
{
    for (size_t i = 0; i < s->candidates.len; i++) {
        bd_rf_candidate *k = &s->candidates.items[i];
        if (k->first_class < 0 || k->first_class == bd_rf_class(target, row)) continue;
        if (k->test.kind == BD_RF_INEQUALITY) {
            float value;
            if (!bd_rf_value(data, row, k->test.feature, &value)) return false;
            k->threshold = (k->threshold + value) / 2;
        }
        k->first_class = -1;
        s->to_average--;
    }
    return true;
}

// ---- Counting ----

static void add_running(const bd_rf_slot *s, bd_rf_candidate *k, int side, int32_t class, float weight)
{
    const float before = bd_rf_side_count(s, k, side, class), after = before + weight;
    k->sums[side] += weight;
    k->squares[side] = k->squares[side] - before * before + after * after;
}

static void add_to_side(const bd_rf_slot *s, bd_rf_candidate *k, int side, int32_t class, float weight)
{
    if (s->p->has_running_stats) add_running(s, k, side, class, weight);
    if (s->p->stats_type == BD_RF_STATS_FIXED_SIZE) {
        bd_rf_fixed_add(&k->sparse[side], s->p->classes_to_track, class, weight);
    } else if (side == 0 && s->p->stats_type == BD_RF_STATS_DENSE) {
        k->left[class] += weight;
    } else if (side == 0) {
        bd_rf_count *count = bd_rf_counts_at(&k->sparse[0].counts, class);
        count->value += weight;
        count->is_set = true;
    }
}

static void add_to_totals(bd_rf_slot *s, int32_t class, float weight)
{
    if (s->p->stats_type == BD_RF_STATS_DENSE) {
        s->class_count += s->totals[class] == 0 && weight > 0;
        s->totals[class] += weight;
    } else if (s->p->stats_type == BD_RF_STATS_SPARSE) {
        bd_rf_count *count = bd_rf_counts_at(&s->sparse_totals, class);
        count->value += weight;
        count->is_set = true;
        s->class_count = s->sparse_totals.len < 2 ? (int)s->sparse_totals.len : 2;
    } else if (s->class_count < 2 && (s->class_count == 0 || s->classes[0] != class)) {
        s->classes[s->class_count++] = class;
    }
}

static bool count_class(bd_rf_slot *s, const bd_rf_data *data, const bd_rf_target *target, int64_t row)
{
    const int32_t class = bd_rf_class(target, row);
    const float weight = bd_rf_weight(target, row);
    for (size_t i = 0; i < s->candidates.len; i++) {
        bool passes;
        if (!bd_rf_test_pass(&s->candidates.items[i].test, data, row, &passes)) return false;
        add_to_side(s, &s->candidates.items[i], passes ? 0 : 1, class, weight);
    }
    add_to_totals(s, class, weight);
    s->weight_sum += weight;
    bd_rf_check_finish(s);
    bd_rf_check_prune(s);
    return true;
}

static bool count_outputs(bd_rf_slot *s, const bd_rf_data *data, const bd_rf_target *target, int64_t row)
{
    const float *outputs = target->labels + row * target->targets;
    const int32_t count = s->p->num_outputs;
    for (size_t i = 0; i < s->candidates.len; i++) {
        bd_rf_candidate *k = &s->candidates.items[i];
        bool passes;
        if (!bd_rf_test_pass(&k->test, data, row, &passes)) return false;
        if (!passes) continue;
        for (int32_t j = 0; j < count; j++) {
            k->left[j] += outputs[j];
            k->left_squares[j] += outputs[j] * outputs[j];
        }
        k->left_examples++;
    }
    for (int32_t j = 0; j < count; j++) {
        s->totals[j] += outputs[j];
        s->total_squares[j] += outputs[j] * outputs[j];
    }
    s->weight_sum += 1;
    return true;
}

bool bd_rf_slot_count(bd_rf_slot *s, const bd_rf_data *data, const bd_rf_target *target, int64_t row)
{
    return is_regression(s) ? count_outputs(s, data, target, row) : count_class(s, data, target, row);
}

// ---- The best candidate ----

// The variances of both sides, added up; both have examples.
static float variance(const bd_rf_slot *s, const bd_rf_candidate *k)
{
    const float left = (float)k->left_examples, right = s->weight_sum - left;
    float total = 0;
    for (int32_t j = 0; j < s->p->num_outputs; j++) {
        const float left_mean = k->left[j] / left, left_square = k->left_squares[j] / left;
        total += left_square - left_mean * left_mean;
        const float right_mean = (s->totals[j] - k->left[j]) / right;
        const float right_square = (s->total_squares[j] - k->left_squares[j]) / right;
        total += right_square - right_mean * right_mean;
    }
    return total;
}

// The score of a candidate; false: it leaves a side empty.
static bool score_of(const bd_rf_slot *s, const bd_rf_candidate *k, float *score)
{
    float sums[2];
    if (is_regression(s)) {
        sums[0] = (float)k->left_examples;
        sums[1] = s->weight_sum - sums[0];
        if (sums[0] > 0 && sums[1] > 0) *score = variance(s, k);
    } else {
        *score = bd_rf_gini(s, k, sums);
    }
    return sums[0] > 0 && sums[1] > 0;
}

static void push_count(bd_rf_leaf *leaf, int64_t key, float value)
{
    bd_array_push(&leaf->counts, (bd_rf_count){key, value, true});
}

static void make_dense_leaves(const bd_rf_slot *s, const bd_rf_candidate *k, bd_rf_leaf *left,
                              bd_rf_leaf *right)
{
    const float left_sum = (float)k->left_examples, right_sum = s->weight_sum - left_sum;
    left->kind = right->kind = BD_RF_VECTOR;
    bd_array_reserve(&left->counts, (size_t)s->p->num_outputs);
    bd_array_reserve(&right->counts, (size_t)s->p->num_outputs);
    for (int32_t j = 0; j < s->p->num_outputs; j++) {
        const float rest = s->totals[j] - k->left[j];
        push_count(left, 0, is_regression(s) ? k->left[j] / left_sum : k->left[j]);
        push_count(right, 0, is_regression(s) ? rest / right_sum : rest);
    }
}

static void make_sparse_leaves(const bd_rf_slot *s, const bd_rf_candidate *k, bd_rf_leaf *left,
                               bd_rf_leaf *right)
{
    left->kind = right->kind = BD_RF_SPARSE_VECTOR;
    if (s->p->stats_type == BD_RF_STATS_FIXED_SIZE) {
        bd_rf_counts_copy(&left->counts, &k->sparse[0].counts);
        bd_rf_counts_copy(&right->counts, &k->sparse[1].counts);
        return;
    }
    bd_rf_counts_copy(&left->counts, &k->sparse[0].counts);
    for (size_t i = 0; i < s->sparse_totals.len; i++) {
        const bd_rf_count *total = &s->sparse_totals.items[i];
        const float rest = total->value - bd_rf_counts_get(&left->counts, total->key);
        if (rest > 0) push_count(right, total->key, rest);
    }
}

bool bd_rf_slot_best(const bd_rf_slot *s, bd_rf_test *test, bd_rf_leaf *left, bd_rf_leaf *right)
{
    float least = FLT_MAX, score = 0;
    const bd_rf_candidate *best = NULL;
    for (size_t i = 0; i < s->candidates.len; i++) {
        if (!score_of(s, &s->candidates.items[i], &score) || !(score < least)) continue;
        least = score;
        best = &s->candidates.items[i];
    }
    if (!best) return false;
    *test = bd_rf_test_copy(&best->test);
    test->threshold = best->threshold;
    *left = *right = (bd_rf_leaf){0};
    if (has_dense_counts(s))
        make_dense_leaves(s, best, left, right);
    else
        make_sparse_leaves(s, best, left, right);
    return true;
}
