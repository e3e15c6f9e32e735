// Reads protobuf's text format by recursive descent, directly to the wire format.
//
// In the wire format a message is preceded by its length, which is known only after it: the bytes of a
// submessage are written first and moved to make room for the length. They move once for each level.
#include "proto/text_format.h"

#include "base/alloc.h"
#include "base/check.h"
#include "proto/pack.h"
#include "proto/text_lexer.h"
#include "proto/text_scalar.h"
#include <string.h>

// More than any message has; each is a bit while its message is read.
#define FIELDS_MAX 256

typedef struct parser {
    bd_text_lexer lexer;
    uint8_t *bytes; // the message so far, owned
    size_t len, cap;
    int depth; // of messages around the current one
} parser;

typedef struct seen_fields {
    uint64_t few[FIELDS_MAX / 64];
    uint64_t *bits; // `few`, or memory of its own for more fields
} seen_fields;

// ---- Writing ----

// Makes room for `n` more bytes.
static braid_code reserve(parser *p, size_t n)
{
    if (n <= p->cap - p->len) return BRAID_OK;
    size_t cap = p->cap ? p->cap * 2 : 256;
    if (cap < p->len + n) cap = p->len + n;
    uint8_t *bytes = p->len + n <= BD_PROTO_BYTES_MAX ? bd_try_realloc(p->bytes, cap) : NULL;
    if (!bytes)
        return bd_fail(p->lexer.st, BRAID_RESOURCE_EXHAUSTED,
                       "Text of %s: no memory for the message (limit: %zu bytes)", p->lexer.message,
                       BD_PROTO_BYTES_MAX);
    p->bytes = bytes;
    p->cap = cap;
    return BRAID_OK;
}

static size_t encode_varint(uint64_t value, uint8_t *out)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        out[n++] = (uint8_t)(value | 0x80);
    out[n++] = (uint8_t)value;
    return n;
}

static braid_code put_varint(parser *p, uint64_t value)
{
    braid_code code = reserve(p, 10);
    if (!code) p->len += encode_varint(value, p->bytes + p->len);
    return code;
}

static braid_code put_tag(parser *p, const ProtobufCFieldDescriptor *field, bd_wire_type type)
{
    return put_varint(p, (uint64_t)field->id << 3 | type);
}

static braid_code put_little_endian(parser *p, uint64_t bits, size_t size)
{
    braid_code code = reserve(p, size);
    for (size_t i = 0; i < size && !code; i++)
        p->bytes[p->len++] = (uint8_t)(bits >> 8 * i);
    return code;
}

// Inserts the length of the bytes written since `start` before them.
static braid_code put_length(parser *p, size_t start)
{
    uint8_t varint[10];
    const size_t len = p->len - start, n = encode_varint(len, varint);
    braid_code code = reserve(p, n);
    if (code) return code;
    memmove(p->bytes + start + n, p->bytes + start, len);
    memcpy(p->bytes + start, varint, n);
    p->len += n;
    return BRAID_OK;
}

// ---- Tokens ----

static bool at_symbol(const parser *p, char c)
{
    return p->lexer.token.kind == BD_TEXT_SYMBOL && *p->lexer.token.text == c;
}

// ---- Values ----

static braid_code parse_fields(parser *p, const ProtobufCMessageDescriptor *type, char close);

static braid_code parse_message(parser *p, const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessageDescriptor *type = field->descriptor;
    const char close = at_symbol(p, '<') ? '>' : '}';
    if (!at_symbol(p, '{') && !at_symbol(p, '<'))
        return bd_text_expected(&p->lexer, field, "a message in { }");
    if (p->depth == BD_WIRE_DEPTH_MAX)
        return bd_text_fail(&p->lexer, p->lexer.token.text, "field '%s' nests deeper than %d messages",
                            field->name, BD_WIRE_DEPTH_MAX);
    braid_code code = bd_text_next(&p->lexer);
    if (!code) code = put_tag(p, field, BD_WIRE_BYTES);
    if (code) return code;
    const size_t start = p->len;
    p->depth++;
    code = parse_fields(p, type, close);
    p->depth--;
    if (!code) code = put_length(p, start);
    return code ? code : bd_text_next(&p->lexer);
}

// Well-formed UTF-8, without halves of surrogate pairs and needlessly long forms.
static bool is_utf8(const uint8_t *s, size_t len)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    for (size_t i = 0; i < len;) {
        const uint8_t c = s[i++];
        if (c < 0x80) continue;
        const int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        if (c < 0xc2 || c > 0xf4 || len - i < (size_t)more) return false;
        uint32_t value = c & (0x3fu >> more);
        for (int k = 0; k < more; k++, i++) {
            if ((s[i] & 0xc0) != 0x80) return false;
            value = value << 6 | (s[i] & 0x3f);
        }
        if (value < least[more] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return false;
    }
    return true;
}

static braid_code parse_string(parser *p, const ProtobufCFieldDescriptor *field)
{
    const char *at = p->lexer.token.text;
    if (p->lexer.token.kind != BD_TEXT_STRING)
        return bd_text_expected(&p->lexer, field, "a string in quotes");
    braid_code code = put_tag(p, field, BD_WIRE_BYTES);
    const size_t start = p->len;
    while (!code && p->lexer.token.kind == BD_TEXT_STRING) {
        size_t len = 0;
        code = reserve(p, p->lexer.token.len);
        if (!code) code = bd_text_unescape(&p->lexer, &p->lexer.token, p->bytes + p->len, &len);
        p->len += len;
        if (!code) code = bd_text_next(&p->lexer);
    }
    if (code) return code;
    if (field->type == PROTOBUF_C_TYPE_STRING && !is_utf8(p->bytes + start, p->len - start))
        return bd_text_fail(&p->lexer, at, "field '%s' takes text in UTF-8; the string has other bytes",
                            field->name);
    return put_length(p, start);
}

static braid_code parse_value(parser *p, const ProtobufCFieldDescriptor *field)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) return parse_message(p, field);
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES)
        return parse_string(p, field);
    uint64_t bits;
    braid_code code = bd_text_scalar(&p->lexer, field, &bits);
    if (code) return code;
    switch (field->type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        code = put_tag(p, field, BD_WIRE_FIXED32);
        return code ? code : put_little_endian(p, bits, 4);
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        code = put_tag(p, field, BD_WIRE_FIXED64);
        return code ? code : put_little_endian(p, bits, 8);
    default: code = put_tag(p, field, BD_WIRE_VARINT); return code ? code : put_varint(p, bits);
    }
}

static braid_code parse_list(parser *p, const ProtobufCFieldDescriptor *field)
{
    braid_code code = bd_text_next(&p->lexer); // the '['
    while (!code && !at_symbol(p, ']')) {
        code = parse_value(p, field);
        if (code || at_symbol(p, ']')) break;
        if (!at_symbol(p, ','))
            return bd_text_expected(&p->lexer, field, "',' or ']' behind a value of its list");
        code = bd_text_next(&p->lexer);
        if (!code && at_symbol(p, ']')) return bd_text_expected(&p->lexer, field, "a value behind ','");
    }
    return code ? code : bd_text_next(&p->lexer);
}

// ---- Fields ----

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
                                                  const bd_text_token *name)
{
    char text[128];
    if (name->len >= sizeof text) return NULL;
    memcpy(text, name->text, name->len);
    text[name->len] = 0;
    return protobuf_c_message_descriptor_get_field_by_name(type, text);
}

// "[full.name]", as a descriptor names an extension (proto/descriptor_pool.c). The lexer moves to the ']' when
// there is one.
static const ProtobufCFieldDescriptor *find_extension(parser *p, const ProtobufCMessageDescriptor *type)
{
    bd_text_lexer ahead = p->lexer;
    BD_STATUS(ignored);
    ahead.st = ignored;
    const char *begin = ahead.token.text;
    const bd_text_token *t = &ahead.token;
    while (!bd_text_next(&ahead) &&
           (t->kind == BD_TEXT_IDENTIFIER || (t->kind == BD_TEXT_SYMBOL && *t->text == '.')))
        ;
    if (ignored->code || t->kind != BD_TEXT_SYMBOL || *t->text != ']') return NULL;
    const bd_text_token name = {.text = begin, .len = (size_t)(t->text - begin) + 1};
    const ProtobufCFieldDescriptor *field = find_field(type, &name);
    if (!field) return NULL;
    ahead.st = p->lexer.st;
    p->lexer = ahead;
    return field;
}

static bool is_seen(const seen_fields *seen, size_t i)
{
    return seen->bits[i / 64] >> i % 64 & 1;
}

// A field that is not repeated may occur once, and one of a oneof without the others.
static braid_code note_field(parser *p, const ProtobufCMessageDescriptor *type,
                             const ProtobufCFieldDescriptor *field, seen_fields *seen)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED) return BRAID_OK;
    const size_t index = (size_t)(field - type->fields);
    const char *at = p->lexer.token.text;
    if (is_seen(seen, index))
        return bd_text_fail(&p->lexer, at, "field '%s' of %s is not repeated and occurs twice", field->name,
                            type->short_name);
    for (unsigned i = 0; i < type->n_fields && field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF; i++) {
        const ProtobufCFieldDescriptor *other = &type->fields[i];
        if (is_seen(seen, i) && other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
            other->quantifier_offset == field->quantifier_offset)
            return bd_text_fail(&p->lexer, at, "field '%s' of %s excludes '%s', which precedes it",
                                field->name, type->short_name, other->name);
    }
    seen->bits[index / 64] |= (uint64_t)1 << index % 64;
    return BRAID_OK;
}

static braid_code bad_name(const parser *p, const ProtobufCMessageDescriptor *type)
{
    const bd_text_token *t = &p->lexer.token;
    const int shown = t->len > 100 ? 100 : (int)t->len;
    if (at_symbol(p, '['))
        return bd_text_fail(
            &p->lexer, t->text,
            "extensions and expanded google.protobuf.Any values (\"[name]\") cannot be read: %s must be "
            "written in its own fields",
            type->short_name);
    if (t->kind == BD_TEXT_END)
        return bd_text_fail(&p->lexer, t->text, "%s does not end: a closing bracket is missing",
                            type->short_name);
    if (t->kind != BD_TEXT_IDENTIFIER)
        return bd_text_fail(&p->lexer, t->text, "a field of %s is expected, not '%.*s'", type->short_name,
                            shown, t->text);
    return bd_text_fail(&p->lexer, t->text, "%s has no field '%.*s'", type->short_name, shown, t->text);
}

static braid_code parse_field(parser *p, const ProtobufCMessageDescriptor *type, seen_fields *seen)
{
    const bd_text_token *t = &p->lexer.token;
    const ProtobufCFieldDescriptor *field = t->kind == BD_TEXT_IDENTIFIER ? find_field(type, t)
                                            : at_symbol(p, '[')           ? find_extension(p, type)
                                                                          : NULL;
    if (!field) return bad_name(p, type);
    braid_code code = note_field(p, type, field, seen);
    if (!code) code = bd_text_next(&p->lexer);
    if (code) return code;
    const bool has_colon = at_symbol(p, ':');
    if (has_colon) code = bd_text_next(&p->lexer);
    if (!has_colon && field->type != PROTOBUF_C_TYPE_MESSAGE)
        return bd_text_expected(&p->lexer, field, "':' and a value");
    if (code) return code;
    code = field->label == PROTOBUF_C_LABEL_REPEATED && at_symbol(p, '[') ? parse_list(p, field)
                                                                          : parse_value(p, field);
    return !code && (at_symbol(p, ',') || at_symbol(p, ';')) ? bd_text_next(&p->lexer) : code;
}

// The fields of a message up to `close` (0: the end of the text), which stays the current token.
static braid_code parse_fields(parser *p, const ProtobufCMessageDescriptor *type, char close)
{
    seen_fields seen = {0};
    seen.bits =
        type->n_fields <= FIELDS_MAX ? seen.few : bd_try_calloc(type->n_fields / 64 + 1, sizeof *seen.bits);
    braid_code code =
        seen.bits ? BRAID_OK
                  : bd_fail(p->lexer.st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading %s", type->short_name);
    while (!code && !(close ? at_symbol(p, close) : p->lexer.token.kind == BD_TEXT_END))
        code = parse_field(p, type, &seen);
    if (seen.bits != seen.few) bd_free(seen.bits);
    return code;
}

static void release(void *bytes)
{
    bd_free(bytes);
}

braid_code bd_text_format_to_wire(const ProtobufCMessageDescriptor *type, const char *text, size_t len,
                                  bd_message *out, braid_status *st)
{
    parser p = {0};
    braid_code code = bd_text_lexer_init(&p.lexer, type->short_name, text, len, st);
    if (!code) code = parse_fields(&p, type, 0);
    if (code || p.len == 0) {
        bd_free(p.bytes);
        return code;
    }
    bd_message_add(out, (bd_slice){.data = p.bytes, .len = p.len, .release = release, .owner = p.bytes});
    return BRAID_OK;
}

braid_code bd_text_format_parse(const ProtobufCMessageDescriptor *type, const char *text, size_t len,
                                ProtobufCMessage **out, braid_status *st)
{
    bd_message wire;
    bd_message_init(&wire);
    *out = NULL;
    braid_code code = bd_text_format_to_wire(type, text, len, &wire, st);
    if (!code) {
        const bool empty = wire.slice_count == 0; // otherwise it is one slice
        *out = protobuf_c_message_unpack(type, NULL, empty ? 0 : wire.slices[0].len,
                                         empty ? NULL : wire.slices[0].data);
        if (!*out)
            code = bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "Text of %s: no memory for the message of %zu bytes",
                           type->short_name, wire.bytes);
    }
    bd_message_fini(&wire);
    return code;
}
