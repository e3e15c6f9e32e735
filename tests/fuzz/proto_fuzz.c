// Fuzzes descriptors, and messages of the types that they describe: a FileDescriptorSet, whose length the
// first two bytes give, and then a message, which is read as bytes and as text by each type. Without a set
// that can be used the types are some of Braid's.
#include "base/alloc.h"
#include "base/check.h"
#include "ops/parsing/proto_source.h"
#include "proto/text_format.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    FIELDS_MAX = 16
};

typedef struct seen {
    const bd_message_field *const *fields;
    int64_t values;
} seen;

static bool see(void *arg, int i, const bd_proto_value *value)
{
    seen *s = arg;
    if (bd_proto_field_has_dtype(s->fields[i]->type, BRAID_STRING))
        BD_ASSERT(value->bytes.at <= value->bytes.end);
    s->values++;
    return true;
}

// Types that a field leads to are read, too, so that one name is enough to begin with.
static void read_message(const bd_message_type *type, const uint8_t *data, size_t size, int depth)
{
    const bd_message_field *fields[FIELDS_MAX];
    int count = bd_message_type_field_count(type);
    if (count > FIELDS_MAX) count = FIELDS_MAX;
    for (int i = 0; i < count; i++) {
        fields[i] = bd_message_type_field(type, i);
        BD_ASSERT(bd_message_type_find(type, fields[i]->name));
    }
    seen s = {.fields = fields};
    const bd_proto_bytes message = {data, data + size};
    const bool is_read = bd_proto_each(message, fields, count, see, &s),
               is_valid = bd_proto_is_valid(type, message);
    if (is_valid) BD_ASSERT(is_read);
    BD_STATUS(st);
    bd_message out;
    bd_message_init(&out);
    if (bd_text_format_to_wire(bd_message_type_descriptor(type), (const char *)data, size, &out, st) ==
            BRAID_OK &&
        out.slice_count > 0) {
        const uint8_t *bytes = out.slices[0].data;
        BD_ASSERT(bd_proto_is_valid(type, (bd_proto_bytes){bytes, bytes + out.bytes}));
    }
    bd_message_fini(&out);
    for (int i = 0; i < count && depth < 2; i++)
        if (fields[i]->message) read_message(fields[i]->message, data, size, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    static const char *const names[] = {"M", "p.M", "tensorflow.Example", "tensorflow.AttrValue",
                                        "tensorflow.TensorProto"};
    size_t len = data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    if (len > size) len = size;
    BD_STATUS(st);
    bd_descriptor_pool *pool;
    bd_descriptor_pool_new(data, len, &pool, st);
    const bd_descriptor_pool *used = pool ? pool : bd_descriptor_pool_of_braid();
    for (size_t i = 0; i < BD_COUNTOF(names); i++) {
        const bd_message_type *type = bd_descriptor_pool_find(used, names[i]);
        if (type) read_message(type, data + len, size - len, 0);
    }
    bd_descriptor_pool_free(pool);
    return 0;
}
