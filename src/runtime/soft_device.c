// Soft placement: which device stands in for one that does not exist.
#include "runtime/soft_device.h"

#include "graph/device_name.h"
#include <string.h>

// Stores the number of a device. Returns whether its task and type are those of `like`.
static bool is_sibling(const bd_device_info *d, const bd_device_name *like, int *id)
{
    bd_device_name name;
    if (bd_device_name_parse(d->name, &name, NULL)) return false;
    *id = name.id;
    return bd_device_name_same_task(&name, like) && strcmp(name.type, like->type) == 0;
}

int bd_soft_device(const bd_device_info *devices, int count, int like, int id)
{
    bd_device_name name;
    int siblings = 0, own;
    if (bd_device_name_parse(devices[like].name, &name, NULL)) return like;
    for (int i = 0; i < count; i++)
        siblings += is_sibling(&devices[i], &name, &own);
    for (int i = 0; i < count; i++) {
        if (siblings > 0 && is_sibling(&devices[i], &name, &own) && own == id % siblings) return i;
    }
    return like; // the numbers have gaps
}
