// Names of devices: parsing, merging, matching and printing "/job:ps/replica:0/task:1/device:CPU:0".
//
// A name may leave fields out or give them as '*': then they may be anything. Short forms ("/cpu:0",
// "/job:ps/task:1/GPU:*") are read too; the case of the type does not matter.
#ifndef BD_GRAPH_DEVICE_NAME_H
#define BD_GRAPH_DEVICE_NAME_H

#include "base/status.h"
#include <stdbool.h>

#define BD_DEVICE_JOB_MAX 128 // bytes with the zero; longer than any cluster's job names
#define BD_DEVICE_TYPE_MAX 32
#define BD_DEVICE_NAME_MAX 256 // holds every name that parses, printed

// A value; holds no memory. All-zero is the name without fields.
typedef struct bd_device_name {
    bool has_job, has_replica, has_task, has_type, has_id;
    int replica, task, id;
    char job[BD_DEVICE_JOB_MAX];
    char type[BD_DEVICE_TYPE_MAX]; // upper case
} bd_device_name;

// Parses a name; NULL and "" have no fields. InvalidArgument "Malformed device specification 'TEXT': ...".
braid_code bd_device_name_parse(const char *text, bd_device_name *out, braid_status *st);

// Fields that `over` sets replace those of `name` (an inner device scope over an outer one).
void bd_device_name_merge(bd_device_name *name, const bd_device_name *over);

// Adds the fields of `other` to `name`. False when both give a field and differ: `name` is then unchanged.
// With `soft`, a different type or id is no conflict: both are dropped.
bool bd_device_name_intersect(bd_device_name *name, const bd_device_name *other, bool soft);

// Whether the device called `name` is one that `spec` asks for: it has every field of `spec`, with the same
// value.
bool bd_device_name_matches(const bd_device_name *spec, const bd_device_name *name);
bool bd_device_name_equal(const bd_device_name *a, const bd_device_name *b);
bool bd_device_name_is_full(const bd_device_name *name); // all five fields
bool bd_device_name_same_task(const bd_device_name *a,
                              const bd_device_name *b); // job, replica and task given and equal

// Writes the canonical form, "" without fields: "/job:ps/task:1/device:CPU:*". Returns `buf`.
const char *bd_device_name_print(const bd_device_name *name, char buf[BD_DEVICE_NAME_MAX]);
// Writes only job, replica and task: "/job:ps/replica:0/task:1".
const char *bd_device_name_print_task(const bd_device_name *name, char buf[BD_DEVICE_NAME_MAX]);

#endif
