// Fields of large messages, and devices in messages.
#include "cluster/rpc/large_fields.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/device_attributes.pb-c.h"

braid_code bd_large_field_add(bd_wire_reader *sub, void *arg, braid_status *st)
{
    (void)st;
    const uint8_t *data;
    size_t len;
    while (bd_wire_get_piece(sub, &data, &len))
        bd_message_add(arg, (bd_slice){.data = data, .len = len});
    return BRAID_OK;
}

void bd_large_field_put(const bd_message *m, uint32_t field, bd_wire_writer *out)
{
    if (field) {
        bd_wire_put_tag(out, field, BD_WIRE_BYTES);
        bd_wire_put_varint(out, m->bytes);
    }
    for (size_t i = 0; i < m->slice_count; i++)
        bd_wire_put_raw(out, m->slices[i].data, m->slices[i].len);
}

void bd_device_attributes_put(const bd_device_info *device, uint32_t field, bd_wire_writer *out)
{
    Tensorflow__DeviceLocality locality = TENSORFLOW__DEVICE_LOCALITY__INIT;
    Tensorflow__DeviceAttributes attributes = TENSORFLOW__DEVICE_ATTRIBUTES__INIT;
    attributes.name = (char *)device->name;
    attributes.device_type = (char *)device->type;
    attributes.memory_limit = device->memory_limit;
    attributes.incarnation = device->incarnation;
    attributes.locality = &locality;
    bd_proto_put(&attributes.base, field, out);
}
