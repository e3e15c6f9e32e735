// NamedTensorProto on the wire.
#include "tensor/named_tensor.h"

#include "base/alloc.h"
#include <string.h>

enum {
    NAMED_NAME = 1,
    NAMED_TENSOR = 2
};

void bd_named_tensor_fini(bd_named_tensor *named)
{
    bd_free(named->name);
    bd_tensor_fini(&named->tensor);
    *named = (bd_named_tensor){0};
}

static braid_code read_name(bd_wire_reader *in, bd_named_tensor *named, braid_status *st)
{
    size_t len = 0;
    bd_free(named->name);
    named->name = bd_wire_get_string(in, BD_TENSOR_NAME_MAX, &len);
    if (!named->name)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "NamedTensorProto has a truncated name or one of more than %d bytes",
                       BD_TENSOR_NAME_MAX);
    if (strlen(named->name) != len)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "NamedTensorProto has a name with a zero byte in it");
    return BRAID_OK;
}

// Finds the name and, without reading it yet, the tensor, so that errors can name it in any order of fields.
static braid_code find_parts(bd_wire_reader *in, bd_named_tensor *named, bd_wire_reader *tensor,
                             bool *has_tensor, braid_status *st)
{
    uint32_t field;
    bd_wire_type type;
    *has_tensor = false;
    while (bd_wire_next(in, &field, &type)) {
        if (field == NAMED_NAME && type == BD_WIRE_BYTES) {
            braid_code code = read_name(in, named, st);
            if (code) return code;
        } else if (field == NAMED_TENSOR && type == BD_WIRE_BYTES) {
            *has_tensor = bd_wire_get_sub(in, tensor);
        } else {
            bd_wire_skip(in, type);
        }
    }
    if (in->failed) return bd_fail(st, BRAID_INVALID_ARGUMENT, "NamedTensorProto is truncated or malformed");
    if (!named->name) named->name = bd_strdup("");
    if (!*has_tensor)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "NamedTensorProto '%s' has no tensor", named->name);
    return BRAID_OK;
}

braid_code bd_named_tensor_read(bd_wire_reader *in, bd_named_tensor *named, braid_status *st)
{
    bd_wire_reader tensor;
    bool has_tensor;
    *named = (bd_named_tensor){0};
    braid_code code = find_parts(in, named, &tensor, &has_tensor, st);
    if (!code) {
        code = bd_tensor_proto_read(&tensor, &named->tensor, st);
        if (code) bd_status_prefix(st, "tensor '%s': ", named->name);
    }
    if (code) bd_named_tensor_fini(named);
    return code;
}

static size_t field_size(size_t len)
{
    return 1 + bd_wire_varint_size(len) + len; // both fields have a tag of one byte
}

void bd_named_tensor_put(const char *name, const braid_tensor *t, uint32_t field, bd_wire_writer *out)
{
    size_t name_len = strlen(name);
    bd_wire_put_tag(out, field, BD_WIRE_BYTES);
    bd_wire_put_varint(out, field_size(name_len) + field_size(bd_tensor_proto_size(t)));
    bd_wire_put_bytes(out, NAMED_NAME, name, name_len);
    bd_tensor_proto_put(t, NAMED_TENSOR, out);
}
