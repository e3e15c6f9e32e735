// Soft placement: which device stands in for one that does not exist.
#ifndef BD_RUNTIME_SOFT_DEVICE_H
#define BD_RUNTIME_SOFT_DEVICE_H

#include "runtime/device.h"

// Returns the index in `devices` of the device that stands in for number `id` of a type that a task lacks.
// `like` is the index of a device that may be taken. Of the n devices of its task and type it is the one with
// number `id` modulo n: so a program that names four GPUs uses all devices of the task.
int bd_soft_device(const bd_device_info *devices, int count, int like, int id);

#endif
