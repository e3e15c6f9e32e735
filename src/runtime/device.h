// Devices: where nodes run. A device has a name, an incarnation, its resources and a pool of threads.
#ifndef BD_RUNTIME_DEVICE_H
#define BD_RUNTIME_DEVICE_H

#include "base/thread_pool.h"
#include "op/io_pool.h"
#include "op/resource.h"
#include <stdint.h>

typedef struct bd_device {
    char *name;           // "/job:ps/replica:0/task:1/device:CPU:0"
    const char *type;     // "CPU"
    uint64_t incarnation; // drawn at start; a peer that holds an old one gets Aborted
    int64_t memory_limit;
    bd_resources *resources;
    bd_thread_pool *pool; // not owned
    bd_io_pool *io_pool;  // for kernels that block on the disk
} bd_device;

// A device of this process. `task_name` is "/job:J/replica:0/task:N".
bd_device *bd_device_new(const char *task_name, const char *type, int index, bd_thread_pool *pool);
// Call it when no step runs and none will start: empties the containers of the device and ends its threads.
// Call it before the pool is freed, which background work of resources (iterators of datasets) uses until
// then. May be called again.
void bd_device_close(bd_device *d);
void bd_device_free(bd_device *d);

// The properties of a device of this or another task that placement needs.
typedef struct bd_device_info {
    const char *name, *type;
    uint64_t incarnation;
    int64_t memory_limit;
} bd_device_info;

#endif
