// What a node with some sums of gradients and hessians would give: the gain, and the values of its leaf.
//
// The values minimize the loss' second-order approximation: -H^-1 g, with H regularized. Chen and Guestrin,
// "XGBoost", arXiv 1603.02754, section 2.2.
#ifndef BD_OPS_GRADIENT_TREES_NODE_STATS_H
#define BD_OPS_GRADIENT_TREES_NODE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sums are arrays of the gradients, and the hessians behind them.
typedef struct bd_gbt_node_rule {
    int strategy;                // a BD_GBT_..._HESSIAN, or BD_GBT_TREE_PER_CLASS
    int32_t gradients, hessians; // numbers of them
    float l1, l2, min_weight;
    float *scratch; // [bd_gbt_scratch_size]; of one user at a time
} bd_gbt_node_rule;

// What a leaf would hold.
typedef struct bd_gbt_node_values {
    float *values; // [gradients]
    int32_t count; // 0: the node is too small
} bd_gbt_node_values;

// Floats that the rule needs.
size_t bd_gbt_scratch_size(const bd_gbt_node_rule *r);

// Returns the gain; fills `out` (NULL: not wanted). `sums` NULL: of no examples.
float bd_gbt_node_gain(const bd_gbt_node_rule *r, const float *sums, bd_gbt_node_values *out);

// Whether all sums are about 0.
bool bd_gbt_is_almost_zero(const bd_gbt_node_rule *r, const float *sums);

// Solves A x = b in the least squares sense; overwrites A [n, n], which has its columns one after the other,
// and b. `scratch` is [n].
void bd_gbt_solve(float *a, float *b, int32_t n, float *x, float *scratch);

#endif
