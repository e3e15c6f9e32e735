// Handles of iterators as strings: a serialized ResourceHandleProto.
#include "base/alloc.h"
#include "ops/common/handle.h"
#include "ops/dataset/multi_device.h"
#include "tensor/tensor_proto.h"
#include <string.h>

// The field of TensorProto that holds handles.
#define HANDLE_FIELD 14

static void to_string(bd_op_ctx *c, const bd_resource_type *resource_type)
{
    bd_resource *r = bd_input_resource(c, 0, resource_type);
    if (!r) return;
    bd_resource_unref(r);
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_tensor_proto_write(bd_input(c, 0), &out);
    bd_wire_writer_finish(&out);
    bd_wire_reader in = bd_wire_reader_of(&m);
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&in, &field, &type) && field != HANDLE_FIELD)
        bd_wire_skip(&in, type);
    size_t len = 0;
    char *text = bd_wire_get_string(&in, SIZE_MAX - 1, &len);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y && text) bd_tensor_string_set(y, 0, text, len);
    bd_free(text);
    bd_message_fini(&m);
}

static void iterator_to_string_run(bd_op_ctx *c)
{
    to_string(c, &bd_iterator_resource_type);
}

static void multi_device_to_string_run(bd_op_ctx *c)
{
    to_string(c, &bd_multi_device_type);
}

BD_OP(IteratorToStringHandle) = {
    .signature = "(resource_handle: resource) -> (string_handle: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = iterator_to_string_run}),
    .doc = "The handle of an iterator as a string that can be fed.",
};

BD_OP(MultiDeviceIteratorToStringHandle) = {
    .signature = "(multi_device_iterator: resource) -> (string_handle: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = multi_device_to_string_run}),
    .doc = "The handle of an iterator over several devices as a string that can be fed.",
};

// Reads a ResourceHandleProto, by reading a TensorProto that holds it.
static bool parse_handle(const bd_string *s, braid_tensor *handle)
{
    BD_STATUS(unwanted);
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_wire_put_uint(&out, 1, BRAID_RESOURCE);
    bd_wire_put_bytes(&out, HANDLE_FIELD, s->data ? s->data : "", s->len);
    bd_wire_writer_finish(&out);
    bd_wire_reader in = bd_wire_reader_of(&m);
    bool ok = bd_tensor_proto_read(&in, handle, unwanted) == BRAID_OK;
    bd_message_fini(&m);
    return ok && bd_tensor_handle(handle)->name;
}

typedef braid_code (*check_fn)(bd_resource *r, const braid_op *node, braid_status *st);

static void check_handle(bd_op_ctx *c, const bd_resource_handle *h, const bd_resource_type *type,
                         check_fn check)
{
    BD_STATUS(st);
    bd_resource *r;
    const char *device = c->node->assigned_device ? c->node->assigned_device : "",
               *of_handle = h->device ? h->device : "";
    if (strcmp(of_handle, device) != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Attempted create an iterator on device \"%s\" from handle defined on device \"%s\"",
                   device, of_handle);
        return;
    }
    if (!bd_handle_check_kind(c, h, type)) return;
    if (bd_resources_lookup(c->step->resources, h->container, h->name, type, &r, st) || check(r, c->node, st))
        bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

static void from_string(bd_op_ctx *c, const bd_resource_type *type, check_fn check)
{
    braid_tensor handle = {0};
    if (!bd_input_scalar(c, 0, "string_handle", BRAID_STRING)) return;
    if (parse_handle(&bd_tensor_str(bd_input(c, 0))[0], &handle)) {
        check_handle(c, bd_tensor_handle(&handle), type, check);
        bd_output_set(c, 0, &handle);
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Could not parse string_handle as a valid ResourceHandle");
    }
    bd_tensor_fini(&handle);
}

static void iterator_from_string_run(bd_op_ctx *c)
{
    from_string(c, &bd_iterator_resource_type, bd_iterator_resource_check);
}

static void multi_device_from_string_run(bd_op_ctx *c)
{
    from_string(c, &bd_multi_device_type, bd_multi_device_check);
}

static braid_code from_string_create(const braid_op *node, void *state, braid_status *st)
{
    (void)state;
    int types = bd_node_attr(node, "output_types")->list.count,
        shapes = bd_node_attr(node, "output_shapes")->list.count;
    if (types == 0 || shapes == 0 || types == shapes) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "If both 'output_types' and 'output_shapes' are set, they must have the same length.");
}

#define FROM_STRING_OP(OUTPUT, RUN, DOC)                                                                     \
    {                                                                                                        \
        .signature = "(string_handle: string) -> (" OUTPUT ": resource)",                                    \
        .attrs = "output_types:list(type)>=0=[]; output_shapes:list(shape)>=0=[]",                           \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,                    \
        .kernels = BD_KERNELS({.create = from_string_create, .run = (RUN)}), .doc = (DOC)                    \
    }

BD_OP(IteratorFromStringHandle) =
    FROM_STRING_OP("resource_handle", iterator_from_string_run,
                   "The iterator of this device with the handle that IteratorToStringHandle gave.");
BD_OP(IteratorFromStringHandleV2) =
    FROM_STRING_OP("resource_handle", iterator_from_string_run,
                   "The iterator of this device with the handle that IteratorToStringHandle gave.");
BD_OP(MultiDeviceIteratorFromStringHandle) = FROM_STRING_OP(
    "multi_device_iterator", multi_device_from_string_run,
    "The iterator of this device with the handle that MultiDeviceIteratorToStringHandle gave.");
