// Chrome's trace of a step, as its two parts see it: the nodes with their arrows, and the memory.
#ifndef BD_RUNTIME_TIMELINE_H
#define BD_RUNTIME_TIMELINE_H

#include "base/array.h"
#include "base/map.h"
#include "runtime/run_metadata.h"
#include <jansson.h>

// A node of a device.
typedef struct bd_timeline_span {
    const Tensorflow__NodeExecStats *node;
    bd_timeline_label label;
    int64_t start_ns, end_ns;
    int pid, lane;
} bd_timeline_span;

typedef struct bd_timeline {
    json_t *events;
    BD_ARRAY(bd_timeline_span) spans; // of all devices; those of one device in the order of their start
    bd_map makers;                    // span (number + 1) by the name of its node
    int64_t first_ns; // times are counted from here, so that they keep their nanoseconds as JSON's numbers
    int flows;
} bd_timeline;

// A JSON string of a text of any encoding.
json_t *bd_timeline_text(const char *s);
double bd_timeline_micros(int64_t from_ns, int64_t to_ns);
// The node that makes an input "NAME:SLOT", as a number in `spans`; -1: it is not among them.
int bd_timeline_maker(const bd_timeline *t, const char *input);

// Adds counters: the bytes of the outputs that exist, on each device.
void bd_timeline_add_memory(bd_timeline *t);

#endif
