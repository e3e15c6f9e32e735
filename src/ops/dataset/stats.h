// Statistics of iterators, gathered by the aggregator that a SetStatsAggregatorDataset over them names.
#ifndef BD_OPS_DATASET_STATS_H
#define BD_OPS_DATASET_STATS_H

#include "ops/dataset/dataset.h"

static inline bool bd_stats_are_gathered(const bd_iterator *it)
{
    return it->stats != NULL;
}

// Adds a value to a histogram, or sets a scalar; `step` is the number of elements that the iterator has
// given. Any thread; no effect without an aggregator.
void bd_stats_add(const bd_iterator *it, const char *name, double value, int64_t step);
void bd_stats_set(const bd_iterator *it, const char *name, double value, int64_t step);
// The same under the name of a node: "node::name".
void bd_stats_add_of(const bd_iterator *it, const char *node, const char *what, double value, int64_t step);
void bd_stats_set_of(const bd_iterator *it, const char *node, const char *what, double value, int64_t step);

#endif
