// Iterators whose elements are sharded over several devices.
#ifndef BD_OPS_DATASET_MULTI_DEVICE_H
#define BD_OPS_DATASET_MULTI_DEVICE_H

#include "ops/dataset/iterator.h"

extern const bd_resource_type bd_multi_device_type;

// For bd_resources_lookup_or_create, with the node as `arg`: attr `devices` gives the number of shards.
braid_code bd_multi_device_create(void *node, bd_resource **out, braid_status *st);
// InvalidArgument unless the components of the resource are compatible with the types and shapes in the attrs
// of the node.
braid_code bd_multi_device_check(bd_resource *r, const braid_op *node, braid_status *st);

// Starts iterating over a dataset, with up to `max_buffer_size` buffered elements for each shard. Work on the
// previous dataset is cancelled. *incarnation identifies this iteration.
braid_code bd_multi_device_set(bd_resource *r, bd_dataset *d, int64_t max_buffer_size, const bd_step *step,
                               int64_t *incarnation, braid_status *st);

// Ends the execution `c` with the next element of a shard as its outputs, with OutOfRange at the end, or with
// Cancelled when its step is cancelled first. Holds no thread.
void bd_multi_device_get_next(bd_resource *r, bd_op_ctx *c, int shard, int64_t incarnation);

#endif
