// FakeQueue: gives ops that take a reference a queue that is known by its handle.
#include "graph/shape_fn.h"
#include "ops/common/handle.h"
#include "ops/data_flow/queue.h"

static void fake_run(bd_op_ctx *c)
{
    const braid_tensor *t = bd_input(c, 0);
    const bd_resource_handle *h = bd_tensor_count(t) == 1 ? bd_tensor_handle(t) : NULL;
    if (h && h->name)
        bd_output_handle(c, h->container, h->name, &bd_queue_type);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "FakeQueue '%s': input 0 is no handle of a queue",
                   c->node->name);
}

BD_OP(FakeQueue) = {
    .signature = "(resource: resource) -> (handle: Ref(string))",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle,
    .kernels = BD_KERNELS({.run = fake_run}),
    .doc = "The queue of a resource handle by reference, for ops that take queues so.",
};
