// Looking through the descriptors that the build has put in (cmake/BraidProto.cmake).
#include "proto/descriptors.h"
#include "base/alloc.h"
#include <string.h>

extern const uint8_t bd_proto_descriptors[];
extern const size_t bd_proto_descriptors_len;

// Of descriptor.proto.
enum {
    SET_FILE = 1,
    FILE_NAME = 1,
    FILE_PACKAGE = 2,
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_SERVICE = 6,
    MESSAGE_NESTED = 3,
    MESSAGE_ENUM = 4,
    SERVICE_METHOD = 2,
    ANY_NAME = 1,
};

// A message on the wire, in one piece.
typedef bd_proto_file piece;

// Moves to the next BYTES field; skips others.
static bool next(bd_wire_reader *in, uint32_t *field, piece *out)
{
    bd_wire_type type;
    bd_wire_reader sub;
    while (bd_wire_next(in, field, &type)) {
        if (type != BD_WIRE_BYTES) {
            bd_wire_skip(in, type);
            continue;
        }
        *out = (piece){0};
        return bd_wire_get_sub(in, &sub) && (sub.left == 0 || bd_wire_get_piece(&sub, &out->data, &out->len));
    }
    return false;
}

static piece field_of(piece message, uint32_t wanted)
{
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, message.data, message.len);
    uint32_t field;
    piece value;
    while (next(&in, &field, &value))
        if (field == wanted) return value;
    return (piece){0};
}

static bool is(piece text, const char *name)
{
    return text.data && text.len == strlen(name) && memcmp(text.data, name, text.len) == 0;
}

// The rest of `symbol` after "NAME."; NULL when it has another prefix.
static const char *within(piece name, const char *symbol)
{
    if (name.len == 0 || strncmp(symbol, (const char *)name.data, name.len) != 0 || symbol[name.len] != '.')
        return NULL;
    return symbol + name.len + 1;
}

// Whether a declaration is `symbol`, or declares it: a message its nested ones, a service its methods.
static bool declares(piece declaration, uint32_t kind, const char *symbol)
{
    // A symbol has a part for each level of nesting: each iteration descends one level.
    for (;;) {
        const piece name = field_of(declaration, ANY_NAME);
        if (is(name, symbol)) return true;
        symbol = within(name, symbol);
        if (!symbol || kind == FILE_ENUM) return false;
        bd_slice slice;
        bd_wire_reader in = bd_wire_reader_block(&slice, declaration.data, declaration.len);
        uint32_t field;
        piece inner, found = {0};
        while (!found.data && next(&in, &field, &inner)) {
            const bool nests = kind == FILE_SERVICE ? field == SERVICE_METHOD
                                                    : field == MESSAGE_NESTED || field == MESSAGE_ENUM;
            const piece inner_name = nests ? field_of(inner, ANY_NAME) : (piece){0};
            if (nests && (is(inner_name, symbol) || within(inner_name, symbol))) {
                found = inner;
                kind = kind == FILE_MESSAGE && field == MESSAGE_NESTED ? FILE_MESSAGE : FILE_ENUM;
            }
        }
        if (!found.data) return false;
        declaration = found;
    }
}

static bool file_declares(piece file, const char *symbol)
{
    const char *rest = within(field_of(file, FILE_PACKAGE), symbol);
    if (!rest) return false;
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, file.data, file.len);
    uint32_t field;
    piece declaration;
    while (next(&in, &field, &declaration))
        if ((field == FILE_MESSAGE || field == FILE_ENUM || field == FILE_SERVICE) &&
            declares(declaration, field, rest))
            return true;
    return false;
}

static bool is_file(piece file, const char *name)
{
    return is(field_of(file, FILE_NAME), name);
}

static bool find(bool (*matches)(piece file, const char *text), const char *text, bd_proto_file *out)
{
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, bd_proto_descriptors, bd_proto_descriptors_len);
    uint32_t field;
    while (next(&in, &field, out))
        if (field == SET_FILE && matches(*out, text)) return true;
    return false;
}

bool bd_proto_file_find(const char *name, bd_proto_file *file)
{
    return find(is_file, name, file);
}

bool bd_proto_file_declaring(const char *symbol, bd_proto_file *file)
{
    return find(file_declares, symbol, file);
}
