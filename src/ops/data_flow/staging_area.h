// Shared by the ops on staging areas: the areas, and executions that wait on them.
#ifndef BD_OPS_DATA_FLOW_STAGING_AREA_H
#define BD_OPS_DATA_FLOW_STAGING_AREA_H

#include "op/kernel.h"

typedef struct bd_staging_area bd_staging_area;

typedef enum bd_staging_action {
    BD_STAGING_PUT,
    BD_STAGING_TAKE,     // the key's
    BD_STAGING_TAKE_ANY, // of the least key
    BD_STAGING_PEEK,     // the key's
    BD_STAGING_PEEK_AT   // the entry of that number
} bd_staging_action;

// The operation of an execution on an area.
typedef struct bd_staging_plan {
    bd_staging_action action;
    bool has_key;    // of a put: else the area numbers it
    int64_t key;     // or number
    int64_t bytes;   // of a put
    int32_t *index;  // which tensors [index_count]; NULL: all in order; owned
    int index_count; // of a put, as many inputs from `first` on
    int first;       // input of a stage, output of the other ops
} bd_staging_plan;

// The area that the node names, by its own name when by no other. The first node that runs makes it. The
// caller gives the reference back (bd_staging_area_unref); NULL: the kernel has failed.
bd_staging_area *bd_staging_area_of(bd_op_ctx *c);
void bd_staging_area_unref(bd_staging_area *a);

const char *bd_staging_area_name(const bd_staging_area *a);
// The types of its tensors; stores how many to *count.
const braid_dtype *bd_staging_area_types(const bd_staging_area *a, int *count);
int64_t bd_staging_area_memory_limit(const bd_staging_area *a); // bytes; 0: no limit

// Waits until the planned operation is possible, and does it. Takes over the plan's index and the execution.
void bd_staging_wait(bd_staging_area *a, bd_op_ctx *c, const bd_staging_plan *plan);

int64_t bd_staging_area_count(bd_staging_area *a, bool of_incomplete); // entries
void bd_staging_area_clear(bd_staging_area *a);

#endif
