// The weight of a leaf and what it gains, from the sums of its gradients and hessians.
//
// Chen and Guestrin, "XGBoost", arXiv 1603.02754, equations 5 to 7, with an L1 term as well: the weight w
// minimizes (h + l2) w^2 / 2 + g w + l1 |w|, and its gain is twice what that term falls by. For several
// logits g is a vector and h a matrix, or the diagonal of one.
#ifndef BD_OPS_BOOSTED_TREES_SPLIT_H
#define BD_OPS_BOOSTED_TREES_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bd_split_rule {
    float l1, l2; // l1 is of one logit only
    int64_t logits;
    int64_t hessians; // logits: a diagonal; logits * logits: a matrix
} bd_split_rule;

// The weight that minimizes the loss for one logit. *gain receives its gain.
static inline float bd_leaf_weight(float g, float h, float l1, float l2, float *gain)
{
    *gain = 0;
    if (l1 > 0) {
        if (g >= -l1 && g <= l1) return 0;
        g = g > l1 ? g - l1 : g + l1;
    }
    if (h + l2 <= 1e-15f) return 0; // nothing to divide by
    const float weight = -g / (h + l2);
    *gain = -g * weight;
    return weight;
}

// The same for as many logits as the rule has: g [logits], h [hessians], `weight` [logits]. Returns the gain,
// or NaN where the equations cannot be solved. `scratch` has bd_leaf_scratch(rule) doubles.
float bd_leaf_weights(const bd_split_rule *rule, const float *g, const float *h, float *weight,
                      double *scratch);
// 0 where none is needed. -1: a matrix too large to solve.
int64_t bd_leaf_scratch(const bd_split_rule *rule);

// Whether a gain is larger than another one by more than rounding.
static inline bool bd_gain_is_larger(float a, float b)
{
    return a - b >= 1e-15f;
}
static inline bool bd_gains_are_equal(float a, float b)
{
    return a - b < 1e-15f && b - a < 1e-15f;
}

#endif
