// Copies of lists of devices, as sessions give them to programs.
#include "base/alloc.h"
#include "cluster/session/client_session.h"
#include <string.h>

bd_device_info *bd_device_infos_copy(const bd_device_info *devices, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += strlen(devices[i].name) + strlen(devices[i].type) + 2;
    bd_device_info *copy = bd_malloc((size_t)count * sizeof *copy + bytes);
    char *text = (char *)(copy + count);
    for (int i = 0; i < count; i++) {
        copy[i] = devices[i];
        copy[i].name = strcpy(text, devices[i].name);
        text += strlen(text) + 1;
        copy[i].type = strcpy(text, devices[i].type);
        text += strlen(text) + 1;
    }
    return copy;
}
