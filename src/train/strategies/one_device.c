// OneDeviceStrategy: one replica, its variables beside it.
#include "train/strategies/strategy.h"

braid_strategy *braid_one_device_strategy(braid_graph *g, const char *device)
{
    return train_strategy_new(g, "one-device strategy", &device, 1);
}
