// Devices: where nodes run. A device has a name, an incarnation, its resources and a pool of threads.
#ifndef BD_RUNTIME_DEVICE_H
#define BD_RUNTIME_DEVICE_H

#include "base/thread_pool.h"
#include "op/io_pool.h"
#include "op/resource.h"
#include <braid/status.h>
#include <stdint.h>

typedef struct bd_device {
    char *name;           // "/job:ps/replica:0/task:1/device:CPU:0"
    const char *type;     // "CPU"
    uint64_t incarnation; // drawn at start; a peer that holds an old one gets Aborted
    int64_t memory_limit;
    bd_resources *resources;
    bd_thread_pool *pool; // not owned
    bd_io_pool *io_pool;  // for kernels that block on the disk
    const bd_fs *fs;      // the files that kernels may use: all, unless the owner sets another; not owned
    bool is_sharing;      // resources, io_pool and fs are another device's
} bd_device;

// A device of this process. `task_name` is "/job:J/replica:0/task:N".
bd_device *bd_device_new(const char *task_name, const char *type, int index, bd_thread_pool *pool);
// Another device of the same task, with the resources and threads of `first`, which must outlive it.
bd_device *bd_device_new_sharing(const bd_device *first, const char *task_name, int index);
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

bd_device_info bd_device_info_of(const bd_device *d);

// Devices of this process. The arrays are not owned.
typedef struct bd_local_devices {
    bd_device *const *devices;
    const bd_device_info *infos; // of the same
    int count;
} bd_local_devices;

// How many CPU devices a task or an in-process session may have.
#define BD_CPU_DEVICES_MAX 64
// InvalidArgument unless `count` is in [0, BD_CPU_DEVICES_MAX]; 0 means one.
braid_code bd_cpu_devices_check(int count, braid_status *st);

#endif
