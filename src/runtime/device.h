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
// No step runs and none will: empties its containers and ends its threads. Before the pool is freed, which
// what works in the background of its resources (iterators of data sets) may use until then. Once or again.
void bd_device_close(bd_device *d);
void bd_device_free(bd_device *d);

// What placing needs to know of a device, of this or another task.
typedef struct bd_device_info {
    const char *name, *type;
    uint64_t incarnation;
    int64_t memory_limit;
} bd_device_info;

#endif
