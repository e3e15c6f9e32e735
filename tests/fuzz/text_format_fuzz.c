// Fuzzes the text format: a text that is read is printed and read again as the same; any message can be
// printed.
//
// The first byte decides the message's type, and whether the rest is text or the wire format.
#include "base/alloc.h"
#include "base/check.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/core/framework/graph.pb-c.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include "tensorflow/core/protobuf/meta_graph.pb-c.h"
#include "tensorflow/python/training/checkpoint_state.pb-c.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
    &tensorflow__graph_def__descriptor,      &tensorflow__checkpoint_state__descriptor,
    &tensorflow__tensor_proto__descriptor,   &tensorflow__config_proto__descriptor,
    &tensorflow__meta_graph_def__descriptor,
};

static void check_text(const ProtobufCMessageDescriptor *type, const char *text, size_t len)
{
    BD_STATUS(st);
    ProtobufCMessage *m, *again;
    if (bd_text_format_parse(type, text, len, &m, st)) {
        BD_ASSERT(!m && strstr(st->message, type->short_name));
        return;
    }
    char *printed = bd_text_format_print(m);
    BD_ASSERT(bd_text_format_parse(type, printed, strlen(printed), &again, st) == BRAID_OK);
    char *printed_again = bd_text_format_print(again);
    BD_ASSERT(strcmp(printed, printed_again) == 0);
    bd_free(printed);
    bd_free(printed_again);
    protobuf_c_message_free_unpacked(m, NULL);
    protobuf_c_message_free_unpacked(again, NULL);
}

static void check_wire(const ProtobufCMessageDescriptor *type, const void *data, size_t size)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const ProtobufCMessage *m = bd_proto_unpack(type, data, size, arena, st);
    if (!m) return;
    char *printed = bd_text_format_print(m);
    check_text(type, printed, strlen(printed)); // strings of other bytes than UTF-8 are an error of the text
    bd_free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const ProtobufCMessageDescriptor *type = types[(data[0] & 0x7f) % (sizeof types / sizeof *types)];
    char *copy = bd_memdup(data + 1, size - 1); // so that a byte read behind it is noticed
    if (data[0] & 0x80)
        check_wire(type, copy, size - 1);
    else
        check_text(type, copy, size - 1);
    bd_free(copy);
    return 0;
}
