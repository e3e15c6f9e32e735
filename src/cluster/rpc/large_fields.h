// Fields of messages that are too large for a library, and devices as several messages carry them.
#ifndef BD_CLUSTER_RPC_LARGE_FIELDS_H
#define BD_CLUSTER_RPC_LARGE_FIELDS_H

#include "base/wire.h"
#include "runtime/device.h"

// For bd_wire_split: appends the field's bytes, borrowed, to the bd_message `arg`. A repeated field is the
// concatenation of its messages, which merges them.
braid_code bd_large_field_add(bd_wire_reader *sub, void *arg, braid_status *st);

// Writes a whole message as field `field` (0: without tag and length), copied.
void bd_large_field_put(const bd_message *m, uint32_t field, bd_wire_writer *out);

// Writes a DeviceAttributes message as field `field`.
void bd_device_attributes_put(const bd_device_info *device, uint32_t field, bd_wire_writer *out);

#endif
