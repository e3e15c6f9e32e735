// Non-maximum suppression over a heap of candidates.
#include "kernels/suppress.h"

#include "base/alloc.h"
#include "base/interrupt.h"

#include <math.h>

float bd_box_overlap(const float a[4], const float b[4])
{
    float area_a = 1, area_b = 1, common = 1;
    for (int d = 0; d < 2; d++) {
        float a_low = fminf(a[d], a[2 + d]), a_high = fmaxf(a[d], a[2 + d]);
        float b_low = fminf(b[d], b[2 + d]), b_high = fmaxf(b[d], b[2 + d]);
        area_a *= a_high - a_low;
        area_b *= b_high - b_low;
        common *= fmaxf(fminf(a_high, b_high) - fmaxf(a_low, b_low), 0);
    }
    if (area_a <= 0 || area_b <= 0) return 0;
    return common / (area_a + area_b - common);
}

typedef struct candidate {
    int32_t index;
    float score;
    int64_t compared; // the number of selected boxes that it was compared with
} candidate;

// Of equal scores the lower index is first.
static bool is_before(const candidate *a, const candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->index < b->index);
}

static void sift_down(candidate *heap, int64_t count, int64_t at)
{
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &heap[at])) return;
        candidate moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

static float overlap(const bd_suppress *s, int32_t a, int32_t b)
{
    if (s->overlaps) return s->overlaps[a * s->count + b];
    return bd_box_overlap(s->boxes + (int64_t)4 * a, s->boxes + (int64_t)4 * b);
}

// Compares a candidate with the boxes selected since the last time, the latest first. Returns false when it
// is suppressed for good.
static bool compare(const bd_suppress *s, const bd_suppressed *out, candidate *c)
{
    for (int64_t k = out->count - 1; k >= c->compared && !bd_interrupted_at(k); k--) {
        float o = overlap(s, c->index, out->index[k]);
        if (s->sigma > 0) {
            c->score *= expf(-0.5f / s->sigma * o * o);
        } else if (o > s->overlap_max) {
            return false;
        }
        if (!(c->score > s->score_min)) return false; // also for NaN
    }
    c->compared = out->count;
    return true;
}

bool bd_suppress_run(const bd_suppress *s, bd_suppressed *out)
{
    candidate *heap = bd_try_malloc((size_t)s->count * sizeof *heap);
    int64_t count = 0;
    if (!heap) return false;
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        if (s->scores[i] > s->score_min) heap[count++] = (candidate){(int32_t)i, s->scores[i], 0};
    }
    for (int64_t i = count / 2 - 1; i >= 0 && !bd_interrupted_at(i); i--)
        sift_down(heap, count, i);
    out->count = 0;
    while (count > 0 && out->count < s->output_max && !bd_interrupted()) {
        float before = heap[0].score;
        bool stays = compare(s, out, &heap[0]);
        if (stays && heap[0].score != before) { // it is compared again later
            sift_down(heap, count, 0);
            continue;
        }
        if (stays) {
            out->index[out->count] = heap[0].index;
            out->score[out->count++] = heap[0].score;
        }
        heap[0] = heap[--count];
        sift_down(heap, count, 0);
    }
    bd_free(heap);
    return true;
}
