// Devices of this process.
#include "runtime/device.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/status.h"
#include "graph/device_name.h"

// The memory limit in the attributes of a CPU device, as in TensorFlow.
#define DEFAULT_MEMORY_LIMIT ((int64_t)256 << 20)

static bd_device *named_device(const char *task_name, const char *type, int index, bd_thread_pool *pool)
{
    bd_device *d = bd_calloc(1, sizeof *d);
    d->name = bd_asprintf("%s/device:%s:%d", task_name, type, index);
    d->type = bd_strdup(type);
    do {
        d->incarnation = bd_random_u64();
    } while (d->incarnation == 0); // 0 means "any" in the protocol
    d->memory_limit = DEFAULT_MEMORY_LIMIT;
    d->pool = pool;
    return d;
}

bd_device *bd_device_new(const char *task_name, const char *type, int index, bd_thread_pool *pool)
{
    bd_device *d = named_device(task_name, type, index, pool);
    bd_device_name name;
    braid_code code = bd_device_name_parse(d->name, &name, NULL);
    BD_ASSERT(code == BRAID_OK); // the cluster specification has checked the job
    d->resources = bd_resources_new(name.job);
    d->io_pool = bd_io_pool_new();
    d->fs = bd_fs_current;
    return d;
}

bd_device *bd_device_new_sharing(const bd_device *first, const char *task_name, int index)
{
    bd_device *d = named_device(task_name, first->type, index, first->pool);
    d->resources = first->resources;
    d->io_pool = first->io_pool;
    d->fs = first->fs;
    d->is_sharing = true;
    return d;
}

bd_device_info bd_device_info_of(const bd_device *d)
{
    return (bd_device_info){d->name, d->type, d->incarnation, d->memory_limit};
}

braid_code bd_cpu_devices_check(int count, braid_status *st)
{
    if (count >= 0 && count <= BD_CPU_DEVICES_MAX) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "cpu_devices is %d, not between 0 and %d", count,
                   BD_CPU_DEVICES_MAX);
}

void bd_device_close(bd_device *d)
{
    if (d->is_sharing) return;
    bd_resources_clear(d->resources,
                       NULL); // background work is cancelled, so that its threads can end
    bd_io_pool_free(d->io_pool);
    d->io_pool = NULL;
}

void bd_device_free(bd_device *d)
{
    if (!d) return;
    bd_device_close(d);
    if (!d->is_sharing) bd_resources_free(d->resources);
    bd_free((char *)d->type);
    bd_free(d->name);
    bd_free(d);
}
