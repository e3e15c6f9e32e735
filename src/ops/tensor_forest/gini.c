// Gini impurity, and its use for finishing a leaf early and for pruning candidates.
//
// Hoeffding trees: Domingos and Hulten, "Mining High-Speed Data Streams" (KDD 2000).
#include "ops/tensor_forest/gini.h"

#include "base/random.h"
#include <float.h>
#include <math.h>
#include <string.h>

// ---- Counts ----

void bd_rf_fixed_update(bd_rf_class_counts *counts, int32_t size)
{
    counts->smallest = 0;
    if (counts->counts.len < (size_t)size) return;
    counts->smallest = FLT_MAX;
    for (size_t i = 0; i < counts->counts.len; i++)
        if (counts->counts.items[i].value < counts->smallest)
            counts->smallest = counts->counts.items[i].value;
}

// A class for which there is no room takes the place and the count of the least frequent one.
void bd_rf_fixed_add(bd_rf_class_counts *counts, int32_t size, int32_t class, float weight)
{
    bd_rf_counts *c = &counts->counts;
    float before = 0;
    bool has_class = false;
    size_t smallest = 0;
    for (size_t i = 0; i < c->len; i++) {
        has_class |= c->items[i].key == class;
        if (c->items[i].value < c->items[smallest].value) smallest = i;
    }
    if (!has_class && c->len >= (size_t)size) {
        before = c->items[smallest].value;
        memmove(c->items + smallest, c->items + smallest + 1, sizeof *c->items * (c->len - 1 - smallest));
        c->len--;
    }
    bd_rf_count *count = bd_rf_counts_at(c, class);
    count->value += before + weight;
    count->is_set = true;
    bd_rf_fixed_update(counts, size);
}

// Each count of a full table may be too large by the smallest one. Half of that is taken off, and given
// to all classes alike.
static float fixed_share(const bd_rf_slot *s, const bd_rf_class_counts *counts)
{
    return (float)(counts->smallest / 2.0 * s->p->classes_to_track / (float)s->p->num_outputs);
}

static float fixed_count(const bd_rf_slot *s, const bd_rf_class_counts *counts, int32_t class)
{
    const float share = fixed_share(s, counts);
    const bd_rf_count *count = bd_rf_counts_find(&counts->counts, class);
    return count ? (float)(share + (count->value - counts->smallest / 2.0)) : share;
}

float bd_rf_side_count(const bd_rf_slot *s, const bd_rf_candidate *k, int side, int32_t class)
{
    switch (s->p->stats_type) {
    case BD_RF_STATS_DENSE: return side == 0 ? k->left[class] : s->totals[class] - k->left[class];
    case BD_RF_STATS_SPARSE: {
        const float left = bd_rf_counts_get(&k->sparse[0].counts, class);
        return side == 0 ? left : bd_rf_counts_get(&s->sparse_totals, class) - left;
    }
    default: return fixed_count(s, &k->sparse[side], class);
    }
}

// ---- Impurity ----

// One more example of each class is counted, so that few examples are not taken for pure.
static float weighted_gini(float sum, float square, int32_t classes)
{
    const float n = (float)classes, smoothed = n + sum;
    const float gini = (float)(1.0 - (square + 2 * sum + n) / (smoothed * smoothed));
    return sum * gini;
}

static void add_class(float sums[2], float squares[2], float left, float right)
{
    sums[0] += left;
    squares[0] += left * left;
    sums[1] += right;
    squares[1] += right * right;
}

static void sum_fixed(const bd_rf_slot *s, const bd_rf_class_counts *counts, float *sum, float *square)
{
    for (size_t i = 0; i < counts->counts.len; i++) {
        const float w = fixed_count(s, counts, (int32_t)counts->counts.items[i].key);
        *sum += counts->counts.items[i].value;
        *square += w * w;
    }
    const float share = fixed_share(s, counts);
    *square += (float)(s->p->num_outputs - s->p->classes_to_track) * share * share;
}

float bd_rf_gini(const bd_rf_slot *s, const bd_rf_candidate *k, float sums[2])
{
    float squares[2] = {0, 0};
    const int32_t classes = s->p->num_outputs;
    sums[0] = sums[1] = 0;
    if (s->p->has_running_stats) {
        memcpy(sums, k->sums, sizeof k->sums);
        memcpy(squares, k->squares, sizeof k->squares);
    } else if (s->p->stats_type == BD_RF_STATS_DENSE) {
        for (int32_t i = 0; i < classes; i++)
            add_class(sums, squares, k->left[i], s->totals[i] - k->left[i]);
    } else if (s->p->stats_type == BD_RF_STATS_SPARSE) {
        for (size_t i = 0; i < s->sparse_totals.len; i++) {
            const float left = bd_rf_counts_get(&k->sparse[0].counts, s->sparse_totals.items[i].key);
            add_class(sums, squares, left, s->sparse_totals.items[i].value - left);
        }
    } else {
        for (int side = 0; side < 2; side++)
            sum_fixed(s, &k->sparse[side], &sums[side], &squares[side]);
    }
    const float left = weighted_gini(sums[0], squares[0], classes);
    return left + weighted_gini(sums[1], squares[1], classes);
}

// ---- Finishing early ----

// The two best candidates; -1: there is none.
typedef struct best_two {
    float score, second_score;
    int best, second;
} best_two;

static best_two find_best_two(const bd_rf_slot *s)
{
    best_two b = {FLT_MAX, FLT_MAX, -1, -1};
    for (size_t i = 0; i < s->candidates.len; i++) {
        float sums[2];
        const float score = bd_rf_gini(s, &s->candidates.items[i], sums);
        if (score < b.score) {
            b = (best_two){score, b.score, (int)i, b.best};
        } else if (score < b.second_score) {
            b.second_score = score;
            b.second = (int)i;
        }
    }
    return b;
}

static bool hoeffding_is_sure(const bd_rf_slot *s)
{
    const best_two b = find_best_two(s);
    // Each term of the impurity is between 0 and 0.5 * 0.5.
    const float range = (float)(0.25 * (float)s->p->num_outputs * s->weight_sum);
    const float bound =
        (float)(range * sqrt(log(1.0 / (1.0 - s->dominate_fraction)) / (2.0 * s->weight_sum)));
    return b.second_score - b.score > bound;
}

enum {
    BOOTSTRAP_EXAMPLES_MAX = 1 << 16, // of a sample: a larger one tells hardly more
    BOOTSTRAP_SAMPLES_MAX = 30
};

// Draws `n` examples with the candidate's frequencies of classes and sides. Returns the sum of the squares of
// what was drawn of each: the larger, the purer.
static int64_t draw_purity(const double *ends, int32_t kinds, int64_t *drawn, int32_t n, bd_rng *random)
{
    memset(drawn, 0, sizeof *drawn * (size_t)kinds);
    for (int32_t i = 0; i < n; i++) {
        const double at = bd_rng_double(random) * ends[kinds - 1];
        int32_t low = 0, high = kinds - 1;
        while (low < high) {
            const int32_t mid = low + (high - low) / 2;
            if (ends[mid] <= at)
                low = mid + 1;
            else
                high = mid;
        }
        drawn[low]++;
    }
    int64_t purity = 0;
    for (int32_t k = 0; k < kinds; k++)
        purity += drawn[k] * drawn[k];
    return purity;
}

// `ends` [2 * classes]: the sums of the frequencies up to each, smoothed by one example of each kind.
static void fill_ends(const bd_rf_slot *s, int candidate, double *ends)
{
    double end = 0;
    for (int side = 0; side < 2; side++)
        for (int32_t i = 0; i < s->p->num_outputs; i++) {
            end += fmax(0, bd_rf_side_count(s, &s->candidates.items[candidate], side, i)) + 1.0;
            ends[side * s->p->num_outputs + i] = end;
        }
}

// Whether the least pure sample of the best candidate is purer than the purest one of the second best.
static bool bootstrap_is_sure(const bd_rf_slot *s)
{
    const best_two b = find_best_two(s);
    const int32_t kinds = 2 * s->p->num_outputs;
    if (b.second < 0) return false;
    int samples = 1;
    for (float p = (float)(1.0 - s->dominate_fraction); p < 1.0 && samples < BOOTSTRAP_SAMPLES_MAX; p *= 2)
        samples++;
    const int32_t n =
        s->weight_sum < BOOTSTRAP_EXAMPLES_MAX ? (int32_t)s->weight_sum : BOOTSTRAP_EXAMPLES_MAX;
    double *ends = bd_try_malloc(sizeof *ends * (size_t)kinds);
    int64_t *drawn = bd_try_malloc(sizeof *drawn * (size_t)kinds);
    bd_rng random = bd_rng_init(bd_random_u64());
    int64_t worst = INT64_MAX, best = 0;
    for (int i = 0; ends && drawn && i < 2 * samples; i++) {
        if (i % samples == 0) fill_ends(s, i < samples ? b.best : b.second, ends);
        const int64_t purity = draw_purity(ends, kinds, drawn, n, &random);
        if (i < samples && purity < worst) worst = purity;
        if (i >= samples && purity > best) best = purity;
    }
    const bool is_sure = ends && drawn && worst > best;
    bd_free(ends);
    bd_free(drawn);
    return is_sure;
}

void bd_rf_check_finish(bd_rf_slot *s)
{
    if (s->p->finish == BD_RF_FINISH_BASIC || s->weight_sum < (float)s->min_split_samples ||
        s->weight_sum < (float)s->finish_epoch * (float)s->finish_every)
        return;
    s->finish_epoch++;
    s->is_finished_early =
        s->p->finish == BD_RF_FINISH_HOEFFDING ? hoeffding_is_sure(s) : bootstrap_is_sure(s);
}

// ---- Pruning ----

void bd_rf_candidate_fini(bd_rf_slot *s, bd_rf_candidate *k)
{
    bd_rf_test_free(&k->test);
    bd_free(k->left);
    bd_free(k->left_squares);
    bd_array_free(&k->sparse[0].counts);
    bd_array_free(&k->sparse[1].counts);
    s->to_average -= k->first_class >= 0;
}

static void drop(bd_rf_slot *s, const bool *is_dropped)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->candidates.len; i++) {
        if (is_dropped[i])
            bd_rf_candidate_fini(s, &s->candidates.items[i]);
        else
            s->candidates.items[kept++] = s->candidates.items[i];
    }
    s->candidates.len = kept;
}

// Candidates whose score is above the best by more than the Hoeffding bound.
static void find_hoeffding(const bd_rf_slot *s, const float *scores, bool *is_dropped)
{
    float best = FLT_MAX;
    for (size_t i = 0; i < s->candidates.len; i++)
        if (scores[i] < best) best = scores[i];
    // The impurity is between 0 and 1 - 1/n.
    const float range = (float)(s->weight_sum * (1.0 - 1.0 / (float)s->p->num_outputs));
    const float half_log = (float)(0.5 * log(1.0 / (1.0 - s->dominate_fraction)));
    const float bound = range * sqrtf(half_log / s->weight_sum);
    for (size_t i = 0; i < s->candidates.len; i++)
        is_dropped[i] = scores[i] - best > bound;
}

// Whether score `i` is below score `k`; of equal ones the earlier one is.
static bool is_below(const float *scores, size_t i, size_t k)
{
    return scores[i] < scores[k] || (scores[i] == scores[k] && i < k);
}

// Restores the heap, whose first element has the lowest score, below element `at`.
static void sift(size_t *heap, size_t count, size_t at, const float *scores)
{
    for (size_t least = at;; at = least) {
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_below(scores, heap[child], heap[least])) least = child;
        if (least == at) return;
        const size_t up = heap[least];
        heap[least] = heap[at];
        heap[at] = up;
    }
}

// The `count` candidates with the highest scores. One displaces the lowest of those before it only if its own
// score is higher. `heap` [count] is for them.
static void find_worst(const bd_rf_slot *s, const float *scores, size_t *heap, size_t count, bool *is_dropped)
{
    for (size_t i = 0; i < count; i++)
        heap[i] = i;
    for (size_t i = count / 2; i-- > 0;)
        sift(heap, count, i, scores);
    for (size_t i = count; i < s->candidates.len; i++) {
        if (!(scores[heap[0]] < scores[i])) continue;
        heap[0] = i;
        sift(heap, count, 0, scores);
    }
    for (size_t i = 0; i < count; i++)
        is_dropped[heap[i]] = true;
}

static float pruned_fraction(bd_rf_pruning pruning)
{
    return pruning == BD_RF_PRUNE_HALF ? 0.5F : pruning == BD_RF_PRUNE_QUARTER ? 0.25F : 0.10F;
}

void bd_rf_check_prune(bd_rf_slot *s)
{
    if (s->p->pruning == BD_RF_PRUNE_NONE || bd_rf_slot_is_finished(s) ||
        s->weight_sum < (float)s->prune_epoch * (float)s->prune_every)
        return;
    s->prune_epoch++;
    const size_t len = s->candidates.len;
    const size_t count = (size_t)((float)len * pruned_fraction((bd_rf_pruning)s->p->pruning));
    float *scores = bd_try_malloc(sizeof *scores * (len + 1));
    size_t *heap = bd_try_malloc(sizeof *heap * (count + 1));
    bool *is_dropped = bd_try_calloc(len + 1, sizeof *is_dropped);
    const bool has_memory = scores && heap && is_dropped;
    for (size_t i = 0; has_memory && i < len; i++) {
        float sums[2];
        scores[i] = bd_rf_gini(s, &s->candidates.items[i], sums);
    }
    if (has_memory && s->p->pruning == BD_RF_PRUNE_HOEFFDING)
        find_hoeffding(s, scores, is_dropped);
    else if (has_memory && count > 0)
        find_worst(s, scores, heap, count, is_dropped);
    if (has_memory) drop(s, is_dropped);
    bd_free(scores);
    bd_free(heap);
    bd_free(is_dropped);
}
