// CentralStorageStrategy: a replica on each device, one copy of each variable on a device of its own.
#include "train/strategies/strategy.h"

braid_strategy *braid_central_storage_strategy(braid_graph *g, const char *const *devices, int count,
                                               const char *variable_device)
{
    braid_strategy *s = train_strategy_new(g, "central storage strategy", devices, count);
    s->variable_device = bd_strdup(variable_device ? variable_device : "/cpu:0");
    s->replicas.shares = true;
    return s;
}
