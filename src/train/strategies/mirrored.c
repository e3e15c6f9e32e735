// MirroredStrategy: a replica and a copy of each variable on each device. The copies stay equal because each
// gets the same updates: reduced gradients are one value, which is sent to all devices.
#include "train/strategies/strategy.h"

braid_strategy *braid_mirrored_strategy(braid_graph *g, const char *const *devices, int count)
{
    return train_strategy_new(g, "mirrored strategy", devices, count);
}
