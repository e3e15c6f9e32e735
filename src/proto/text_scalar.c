// Values of protobuf's text format that are one token.
#include "proto/text_scalar.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// The limit of a number's length in a text.
#define NUMBER_LEN_MAX 1000

static bool is_word(const bd_text_token *t, const char *word)
{
    return t->kind == BD_TEXT_IDENTIFIER && strlen(word) == t->len && strncasecmp(t->text, word, t->len) == 0;
}

static bool is_symbol(const bd_text_token *t, char c)
{
    return t->kind == BD_TEXT_SYMBOL && *t->text == c;
}

braid_code bd_text_expected(const bd_text_lexer *x, const ProtobufCFieldDescriptor *field, const char *what)
{
    const bd_text_token *t = &x->token;
    if (t->kind == BD_TEXT_END)
        return bd_text_fail(x, t->text, "field '%s' takes %s; the text ends", field->name, what);
    return bd_text_fail(x, t->text, "field '%s' takes %s, not '%.*s'", field->name, what,
                        t->len > 40 ? 40 : (int)t->len, t->text);
}

// Skips a '-'. Stores whether there was one to *negative.
static braid_code take_sign(bd_text_lexer *x, bool *negative)
{
    *negative = is_symbol(&x->token, '-');
    return *negative ? bd_text_next(x) : BRAID_OK;
}

// ---- Integers ----

static bool parse_magnitude(const bd_text_token *t, uint64_t *value)
{
    unsigned base = t->text[0] != '0' ? 10 : t->len > 1 && (t->text[1] == 'x' || t->text[1] == 'X') ? 16 : 8;
    *value = 0;
    for (size_t i = base == 16 ? 2 : 0; i < t->len; i++) {
        const char c = t->text[i];
        const unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
        if (__builtin_mul_overflow(*value, base, value) || __builtin_add_overflow(*value, digit, value))
            return false;
    }
    return true;
}

// Reads an integer from -max - 1 (0 if it is unsigned) to max, as 64 bits in two's complement.
static braid_code take_integer(bd_text_lexer *x, const ProtobufCFieldDescriptor *field, bool is_signed,
                               uint64_t max, uint64_t *bits)
{
    bool negative = false;
    uint64_t value;
    braid_code code = is_signed ? take_sign(x, &negative) : BRAID_OK;
    if (code) return code;
    if (x->token.kind != BD_TEXT_INTEGER)
        return bd_text_expected(x, field, is_signed ? "an integer" : "an integer that is not negative");
    if (!parse_magnitude(&x->token, &value) || value > max + negative) {
        char range[80];
        if (is_signed)
            snprintf(range, sizeof range, "an integer from -%" PRIu64 " to %" PRIu64, max + 1, max);
        else
            snprintf(range, sizeof range, "an integer from 0 to %" PRIu64, max);
        return bd_text_expected(x, field, range);
    }
    *bits = negative ? -value : value;
    return bd_text_next(x);
}

static braid_code take_bool(bd_text_lexer *x, const ProtobufCFieldDescriptor *field, uint64_t *bits)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true},   {"True", true},   {"t", true},
                 {"false", false}, {"False", false}, {"f", false}};
    const bd_text_token *t = &x->token;
    if (t->kind == BD_TEXT_INTEGER && parse_magnitude(t, bits) && *bits <= 1) return bd_text_next(x);
    for (size_t i = 0; i < sizeof words / sizeof *words && t->kind == BD_TEXT_IDENTIFIER; i++) {
        if (strlen(words[i].word) == t->len && memcmp(t->text, words[i].word, t->len) == 0) {
            *bits = words[i].value;
            return bd_text_next(x);
        }
    }
    return bd_text_expected(x, field, "true or false");
}

static braid_code take_enum(bd_text_lexer *x, const ProtobufCFieldDescriptor *field, uint64_t *bits)
{
    const ProtobufCEnumDescriptor *type = field->descriptor;
    const bd_text_token *t = &x->token;
    // Numbers without a name are kept, as proto3 has it.
    if (t->kind == BD_TEXT_INTEGER || is_symbol(t, '-')) return take_integer(x, field, true, INT32_MAX, bits);
    if (t->kind != BD_TEXT_IDENTIFIER) return bd_text_expected(x, field, "the name or the number of a value");
    for (unsigned i = 0; i < type->n_values; i++) {
        if (strlen(type->values[i].name) == t->len && memcmp(type->values[i].name, t->text, t->len) == 0) {
            *bits = (uint64_t)(int64_t)type->values[i].value;
            return bd_text_next(x);
        }
    }
    return bd_text_fail(x, t->text, "field '%s': %s has no value '%.*s'", field->name, type->short_name,
                        t->len > 100 ? 100 : (int)t->len, t->text);
}

// ---- Floating point ----

static bool parse_decimal(const bd_text_token *t, double *value)
{
    char text[NUMBER_LEN_MAX + 1];
    size_t len = t->len;
    if (t->kind == BD_TEXT_INTEGER && len > 1 && t->text[0] == '0') return false; // hex or octal
    if (t->kind == BD_TEXT_FLOAT && (t->text[len - 1] | 0x20) == 'f') len--;
    if (len > NUMBER_LEN_MAX) return false;
    memcpy(text, t->text, len);
    text[len] = 0;
    // the lexer accepted the number, so it is out of range
    if (!bd_parse_double(text, value)) *value = INFINITY;
    return true;
}

static braid_code take_double(bd_text_lexer *x, const ProtobufCFieldDescriptor *field, double *value)
{
    bool negative;
    braid_code code = take_sign(x, &negative);
    if (code) return code;
    const bd_text_token *t = &x->token;
    if (is_word(t, "inf") || is_word(t, "infinity"))
        *value = INFINITY;
    else if (is_word(t, "nan"))
        *value = NAN;
    else if ((t->kind != BD_TEXT_INTEGER && t->kind != BD_TEXT_FLOAT) || !parse_decimal(t, value))
        return bd_text_expected(x, field, "a decimal number");
    if (negative) *value = -*value;
    return bd_text_next(x);
}

static braid_code take_floating(bd_text_lexer *x, const ProtobufCFieldDescriptor *field, uint64_t *bits)
{
    double value = 0;
    braid_code code = take_double(x, field, &value);
    if (code) return code;
    if (field->type == PROTOBUF_C_TYPE_DOUBLE) {
        memcpy(bits, &value, sizeof *bits);
    } else {
        const float narrow = (float)value;
        uint32_t low;
        memcpy(&low, &narrow, sizeof low);
        *bits = low;
    }
    return BRAID_OK;
}

static uint64_t zigzag(uint64_t value)
{
    return value << 1 ^ -(value >> 63);
}

braid_code bd_text_scalar(bd_text_lexer *x, const ProtobufCFieldDescriptor *field, uint64_t *bits)
{
    braid_code code;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SFIXED32: return take_integer(x, field, true, INT32_MAX, bits);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SFIXED64: return take_integer(x, field, true, INT64_MAX, bits);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: return take_integer(x, field, false, UINT32_MAX, bits);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: return take_integer(x, field, false, UINT64_MAX, bits);
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SINT64:
        code =
            take_integer(x, field, true, field->type == PROTOBUF_C_TYPE_SINT32 ? INT32_MAX : INT64_MAX, bits);
        if (!code) *bits = zigzag(*bits);
        return code;
    case PROTOBUF_C_TYPE_BOOL: return take_bool(x, field, bits);
    case PROTOBUF_C_TYPE_ENUM: return take_enum(x, field, bits);
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE: return take_floating(x, field, bits);
    default: break;
    }
    BD_ASSERT(!"a scalar type");
    return BRAID_INTERNAL;
}
