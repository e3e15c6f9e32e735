// Iterator resources: GetNext waits on them.
#ifndef BD_OPS_DATASET_ITERATOR_H
#define BD_OPS_DATASET_ITERATOR_H

#include "ops/common/wait_queue.h"
#include "ops/dataset/dataset.h"

extern const bd_resource_type bd_iterator_resource_type;

typedef struct bd_iterator_resource bd_iterator_resource;

// The types and shapes in the attrs output_types and output_shapes of a node.
typedef struct bd_promised_components {
    int count;
    const braid_dtype *types;  // [count], owned
    const braid_shape *shapes; // [count], owned
} bd_promised_components;

// Copies the attrs of a node. InvalidArgument when they have different lengths; then there is nothing to
// free.
braid_code bd_promised_components_read(bd_promised_components *p, const braid_op *node, braid_status *st);
void bd_promised_components_fini(bd_promised_components *p);
// InvalidArgument unless the attrs of another node, where present, are compatible.
braid_code bd_promised_components_check(const bd_promised_components *p, const braid_op *node,
                                        braid_status *st);

// Makes an answer of `count` components the outputs of an execution, or fails it: with the answer's error,
// with OutOfRange at the end.
void bd_output_answer(bd_op_ctx *c, bd_answer *answer, int count);

// Makes an iterator resource with the types and shapes in attrs output_types and output_shapes of the node,
// which every dataset that it iterates over must have. For bd_resources_lookup_or_create, with the node as
// `arg`.
braid_code bd_iterator_resource_create(void *node, bd_resource **out, braid_status *st);
// InvalidArgument unless the components of the resource are compatible with the types and shapes in the attrs
// of the node.
braid_code bd_iterator_resource_check(bd_resource *r, const braid_op *node, braid_status *st);
// Starts iterating over a dataset. Executions that wait for an element of the previous dataset still get it.
braid_code bd_iterator_resource_set(bd_resource *r, bd_dataset *d, const bd_step *step, braid_status *st);

// Saves the position as a scalar variant that may be stored: a list of one tensor. FailedPrecondition before
// the first dataset, or when the dataset's elements depend on more than itself.
bool bd_iterator_resource_save(bd_resource *r, bd_op_ctx *c);
// Restarts the dataset at a saved state (input `i` of the node): the elements before it are skipped when the
// next element is wanted. False: the kernel has failed.
bool bd_iterator_resource_restore(bd_resource *r, bd_op_ctx *c, int i);

// Ends the execution `c` with the next element as its outputs (or as one optional), with OutOfRange at the
// end, or with Cancelled when its step is cancelled first: then the element is the next one's. Holds no
// thread.
void bd_iterator_resource_get_next(bd_resource *r, bd_op_ctx *c, bool as_optional);

#endif
