// The order in which SdcaOptimizer takes the examples.
//
// Without sampling it is a shuffle. Adaptive sampling draws the examples whose dual variables are far from
// the optimum more often: D. Csiba, Z. Qu and P. Richtarik, "Stochastic Dual Coordinate Ascent with
// Adaptive Probabilities" (arXiv 1502.08053), with the variant that divides the probability of an example
// once it is drawn, here by 10 as in TensorFlow: the draw of an example that has come k times counts with
// probability 0.1^k. After as many draws that do not count as there are examples, those that did not come
// follow, the most probable first.
//
// TensorFlow takes random numbers from the system. Here they follow from example_state_data, which differs
// from step to step, so that a step can be repeated.
#include "base/alloc.h"
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "kernels/sort.h"
#include "ops/training/sdca.h"

#include <math.h>

#define DECAY 0.1

static void shuffle(bd_rng *rng, int64_t *order, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0 && !bd_interrupted_at(i); i--) {
        int64_t k = (int64_t)bd_rng_below(rng, (uint64_t)i + 1), x = order[i];
        order[i] = order[k];
        order[k] = x;
    }
}

// An example that may be drawn.
typedef struct candidate {
    double p, sum; // its probability without a factor that all have; those up to it
    int64_t example, times;
} candidate;

static int more_probable(const void *a, const void *b, void *arg)
{
    (void)arg;
    const candidate *x = a, *y = b;
    if (x->p != y->p) return x->p < y->p ? 1 : -1;
    return (x->example > y->example) - (x->example < y->example);
}

// How far the dual variable is from that which belongs to the prediction.
static double distance(const bd_sdca_batch *b, int64_t e, float dual)
{
    return fabs((double)dual + b->o->loss->derivative(bd_sdca_predict(b, e).now, (double)b->labels[e]));
}

// Returns the sum of all probabilities.
static double weigh(const bd_sdca_batch *b, const float *state, candidate *all)
{
    double sum = 0;
    for (int64_t e = 0; e < b->example_count && !bd_interrupted(); e++) {
        double p = (double)b->example_weights[e] * sqrt(b->norms[e] + b->o->l2 * b->o->loss->smoothness) *
                   distance(b, e, state[e * 4]);
        if (!(p > 0)) p = 0; // also of weights that are not numbers
        sum += p;
        all[e] = (candidate){.p = p, .sum = sum, .example = e};
    }
    return sum;
}

static candidate *draw(bd_rng *rng, candidate *all, int64_t n, double sum)
{
    double x = bd_rng_double(rng) * sum;
    int64_t from = 0, to = n - 1; // the first one whose sum is above x is within
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        if (all[middle].sum > x)
            to = middle;
        else
            from = middle + 1;
    }
    return &all[from];
}

static void sample(bd_rng *rng, candidate *all, int64_t n, double sum, int64_t *order)
{
    int64_t count = 0;
    for (int64_t in_vain = 0; count < n && in_vain < n && !bd_interrupted_at(count + in_vain);) {
        candidate *one = draw(rng, all, n, sum);
        if (bd_rng_double(rng) > pow(DECAY, (double)one->times)) {
            in_vain++;
        } else {
            one->times++;
            order[count++] = one->example;
        }
    }
    if (count == n || bd_interrupted()) return;
    bd_sort(all, n, sizeof *all, more_probable, NULL);
    for (int64_t i = 0; i < n && count < n; i++) {
        if (all[i].times == 0) order[count++] = all[i].example;
    }
}

bool bd_sdca_order(const bd_sdca_batch *b, const float *state, int64_t *order)
{
    const int64_t n = b->example_count;
    bd_rng rng = bd_rng_init(bd_fingerprint64(state, (size_t)n * 4 * sizeof *state));
    shuffle(&rng, order, n);
    if (!b->o->adaptive || n == 0) return true;
    candidate *all = bd_try_calloc((size_t)n, sizeof *all);
    if (!all) return false;
    double sum = weigh(b, state, all);
    // With no example better than another one, the shuffle stays.
    if (isfinite(sum) && sum > 0 && !bd_interrupted()) sample(&rng, all, n, sum, order);
    bd_free(all);
    return true;
}
