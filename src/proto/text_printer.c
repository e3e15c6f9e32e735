// Printing messages in protobuf's text format.
#include "proto/text_format.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "proto/text_number.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void print_fields(bd_strbuf *out, const ProtobufCMessage *m, int level);

// ---- Values ----

static void put_quoted(bd_strbuf *out, const void *data, size_t len)
{
    static const char escaped[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
    const char *s = data;
    bd_strbuf_append_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        const char *found = s[i] ? strchr(escaped, s[i]) : NULL;
        size_t plain = i;
        while (plain < len && s[plain] >= ' ' && s[plain] < 127 && s[plain] != '"' && s[plain] != '\'' &&
               s[plain] != '\\')
            plain++;
        if (plain > i) {
            bd_strbuf_append_n(out, s + i, plain - i);
            i = plain - 1;
        } else if (found) {
            const char pair[] = {'\\', letters[found - escaped]};
            bd_strbuf_append_n(out, pair, sizeof pair);
        } else {
            const uint8_t byte = (uint8_t)s[i]; // by hand: whole tensors are printed so
            const char octal[] = {'\\', (char)('0' + (byte >> 6)), (char)('0' + (byte >> 3 & 7)),
                                  (char)('0' + (byte & 7))};
            bd_strbuf_append_n(out, octal, sizeof octal);
        }
    }
    bd_strbuf_append_char(out, '"');
}

static void put_enum(bd_strbuf *out, const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *known = protobuf_c_enum_descriptor_get_value(type, value);
    if (known)
        bd_strbuf_append(out, known->name);
    else
        bd_strbuf_appendf(out, "%d", value);
}

// A value that is no message; `at` is where it lies in its struct or array.
static void put_scalar(bd_strbuf *out, const ProtobufCFieldDescriptor *field, const void *at)
{
    const ProtobufCBinaryData *bytes = at;
    const char *text;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32: bd_strbuf_appendf(out, "%" PRId32, *(const int32_t *)at); break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: bd_strbuf_appendf(out, "%" PRId64, *(const int64_t *)at); break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: bd_strbuf_appendf(out, "%" PRIu32, *(const uint32_t *)at); break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: bd_strbuf_appendf(out, "%" PRIu64, *(const uint64_t *)at); break;
    case PROTOBUF_C_TYPE_FLOAT: bd_text_put_float(out, *(const float *)at); break;
    case PROTOBUF_C_TYPE_DOUBLE: bd_text_put_double(out, *(const double *)at); break;
    case PROTOBUF_C_TYPE_BOOL:
        bd_strbuf_append(out, *(const protobuf_c_boolean *)at ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM: put_enum(out, field->descriptor, *(const int *)at); break;
    case PROTOBUF_C_TYPE_STRING:
        text = *(const char *const *)at;
        put_quoted(out, text ? text : "", text ? strlen(text) : 0);
        break;
    case PROTOBUF_C_TYPE_BYTES: put_quoted(out, bytes->data, bytes->len); break;
    case PROTOBUF_C_TYPE_MESSAGE: break;
    }
}

static void put_field(bd_strbuf *out, const ProtobufCFieldDescriptor *field, const void *at, int level)
{
    bd_strbuf_appendf(out, "%*s%s", 2 * level, "", field->name);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *m = *(const ProtobufCMessage *const *)at;
        bd_strbuf_append(out, " {\n");
        if (m) print_fields(out, m, level + 1);
        bd_strbuf_appendf(out, "%*s}\n", 2 * level, "");
    } else {
        bd_strbuf_append(out, ": ");
        put_scalar(out, field, at);
        bd_strbuf_append_char(out, '\n');
    }
}

// ---- Maps ----

// protoc makes a map a repeated message of two fields, "key" and "value", and names it after the field and
// "Entry", a name that no other message can have.
static bool is_map_entry(const ProtobufCMessageDescriptor *type)
{
    const size_t len = strlen(type->short_name);
    return len > 5 && strcmp(type->short_name + len - 5, "Entry") == 0 && type->n_fields == 2 &&
           type->fields[0].id == 1 && strcmp(type->fields[0].name, "key") == 0 && type->fields[1].id == 2 &&
           strcmp(type->fields[1].name, "value") == 0;
}

static const void *key_of(const ProtobufCMessage *entry)
{
    return (const char *)entry + entry->descriptor->fields[0].offset;
}

static int compare_keys(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    const void *x = key_of(a), *y = key_of(b);
    switch (a->descriptor->fields[0].type) {
#define ORDER(type) (*(const type *)x > *(const type *)y) - (*(const type *)x < *(const type *)y)
    case PROTOBUF_C_TYPE_STRING: return strcmp(*(const char *const *)x, *(const char *const *)y);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: return ORDER(int64_t);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: return ORDER(uint64_t);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: return ORDER(uint32_t);
    default: return ORDER(int32_t); // and truth values, which protobuf-c holds in as much
#undef ORDER
    }
}

// Keeps entries of one key in their order: they are pointers into one array.
static int compare_entries(const void *a, const void *b)
{
    ProtobufCMessage *const *const *x = a, *const *const *y = b;
    const int order = compare_keys(**x, **y);
    return order ? order : (*x > *y) - (*x < *y);
}

// By key; of entries with one key the last counts.
static void put_map(bd_strbuf *out, const ProtobufCFieldDescriptor *field, ProtobufCMessage *const *entries,
                    size_t count, int level)
{
    ProtobufCMessage *const **sorted = bd_calloc(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &entries[i];
    qsort(sorted, count, sizeof *sorted, compare_entries);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && compare_keys(*sorted[i], *sorted[i + 1]) == 0) continue;
        put_field(out, field, sorted[i], level);
    }
    bd_free(sorted);
}

// ---- Fields ----

static size_t value_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    default: return 4;
    }
}

static void put_repeated(bd_strbuf *out, const ProtobufCFieldDescriptor *field, const void *at, size_t count,
                         int level)
{
    const char *values = *(const char *const *)at;
    if (count && field->type == PROTOBUF_C_TYPE_MESSAGE && is_map_entry(field->descriptor)) {
        put_map(out, field, *(ProtobufCMessage *const *const *)at, count, level);
        return;
    }
    for (size_t i = 0; i < count; i++)
        put_field(out, field, values + i * value_size(field->type), level);
}

// Returns whether a field without explicit presence (proto3) differs from its default.
static bool is_set(const ProtobufCFieldDescriptor *field, const void *at)
{
    const char *text;
    uint64_t bits = 0;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE: return *(const void *const *)at != NULL;
    case PROTOBUF_C_TYPE_STRING: text = *(const char *const *)at; return text && *text;
    case PROTOBUF_C_TYPE_BYTES: return ((const ProtobufCBinaryData *)at)->len > 0;
    default: memcpy(&bits, at, value_size(field->type)); return bits != 0;
    }
}

static bool is_present(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *m, const void *at)
{
    const void *quantifier = (const char *)m + field->quantifier_offset;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) return *(const uint32_t *)quantifier == field->id;
    if (field->label == PROTOBUF_C_LABEL_REQUIRED) return true;
    if (field->label != PROTOBUF_C_LABEL_OPTIONAL) return is_set(field, at);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
        return *(const void *const *)at && *(const void *const *)at != field->default_value;
    return *(const protobuf_c_boolean *)quantifier;
}

static void print_fields(bd_strbuf *out, const ProtobufCMessage *m, int level)
{
    const bool is_entry = is_map_entry(m->descriptor);
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &m->descriptor->fields[i];
        const void *at = (const char *)m + field->offset;
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            put_repeated(out, field, at, *(const size_t *)((const char *)m + field->quantifier_offset),
                         level);
        else if (is_present(field, m, at) || (is_entry && field->type == PROTOBUF_C_TYPE_MESSAGE))
            put_field(out, field, at, level);
    }
}

char *bd_text_format_print(const ProtobufCMessage *m)
{
    bd_strbuf out = {0};
    print_fields(&out, m, 0);
    return bd_strbuf_take(&out);
}
