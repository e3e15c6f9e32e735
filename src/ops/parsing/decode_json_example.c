// DecodeJSONExample: Example messages from protobuf's JSON to its binary form.
#include "base/interrupt.h"
#include "base/strbuf.h"
#include "graph/shape_fn.h"
#include "io/little_endian.h"
#include "io/varint.h"
#include "ops/common/string_out.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The state of reading, with the first error.
typedef struct json_reader {
    const char *error; // NULL: no error
    const char *where; // a key near it
} json_reader;

static bool wrong(json_reader *r, const char *error, const char *where)
{
    r->error = error;
    r->where = where;
    return false;
}

static void put_bytes(bd_strbuf *out, unsigned field, const void *data, size_t len)
{
    uint8_t head[2 * BD_VARINT_BYTES_MAX];
    size_t n = bd_put_varint(head, field << 3 | 2);
    n += bd_put_varint(head + n, len);
    bd_strbuf_append_n(out, head, n);
    bd_strbuf_append_n(out, data, len);
}

// Moves a message into a field.
static void put_message(bd_strbuf *out, unsigned field, bd_strbuf *message)
{
    put_bytes(out, field, bd_strbuf_str(message), message->len);
    bd_strbuf_fini(message);
}

// ---- Values ----

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '-' ? digits + 62 : c == '_' ? digits + 63 : c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

// Bytes are base 64, of either alphabet, padded or not.
static bool put_base64(json_reader *r, const json_t *value, bd_strbuf *list)
{
    bd_strbuf bytes = {0};
    unsigned bits = 0, count = 0;
    if (!json_is_string(value)) return wrong(r, "bytes are a string of base 64", "bytesList");
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    while (len > 0 && text[len - 1] == '=')
        len--;
    bool ok = len % 4 != 1;
    for (size_t i = 0; i < len && ok; i++) {
        int digit = digit_of(text[i]);
        ok = digit >= 0;
        bits = bits << 6 | (unsigned)(digit & 63);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bd_strbuf_append_char(&bytes, (char)(bits >> count));
    }
    if (ok)
        put_message(list, 1, &bytes);
    else
        bd_strbuf_fini(&bytes);
    return ok || wrong(r, "no base 64", "bytesList");
}

// A number, or one as a string ("NaN", "Infinity" too).
static bool number_of(const json_t *value, double *number)
{
    char *end;
    if (json_is_number(value)) {
        *number = json_number_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (!text || !*text || strlen(text) != json_string_length(value)) return false;
    if (strcmp(text, "NaN") == 0 || strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0) {
        *number = *text == 'N' ? (double)NAN : *text == '-' ? -HUGE_VAL : HUGE_VAL;
        return true;
    }
    if (!strchr("-0123456789", *text) || strpbrk(text, "xXpP")) return false;
    *number = strtod(text, &end);
    return *end == 0;
}

static bool put_float(json_reader *r, const json_t *value, bd_strbuf *packed)
{
    double number;
    uint8_t bytes[4];
    uint32_t bits;
    if (!number_of(value, &number)) return wrong(r, "no number", "floatList");
    float f = (float)number;
    memcpy(&bits, &f, sizeof bits);
    bd_put_le32(bytes, bits);
    bd_strbuf_append_n(packed, bytes, sizeof bytes);
    return true;
}

static bool put_int64(json_reader *r, const json_t *value, bd_strbuf *packed)
{
    uint8_t bytes[BD_VARINT_BYTES_MAX];
    int64_t n = 0;
    double number;
    bool ok = true;
    if (json_is_integer(value)) {
        n = json_integer_value(value);
    } else if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value) ||
               !bd_parse_int64(json_string_value(value), &n)) {
        // 3.0 and "3e2" are integers, too.
        ok = number_of(value, &number) && number == floor(number) && fabs(number) < 0x1p63;
        if (ok) n = (int64_t)number;
    }
    if (!ok) return wrong(r, "no integer of 64 bits", "int64List");
    bd_strbuf_append_n(packed, bytes, bd_put_varint(bytes, (uint64_t)n));
    return true;
}

// ---- Messages ----

// A member by its JSON name or that of the .proto file.
static bool is_named(const char *key, const char *camel, const char *snake)
{
    return strcmp(key, camel) == 0 || strcmp(key, snake) == 0;
}

// {"value": [...]}
static bool put_list(json_reader *r, json_t *list, unsigned kind, bd_strbuf *feature)
{
    bool (*const put[])(json_reader *, const json_t *, bd_strbuf *) = {NULL, put_base64, put_float,
                                                                       put_int64};
    bd_strbuf values = {0}, message = {0};
    const char *key;
    json_t *member, *value;
    size_t i;
    bool ok = json_is_object(list) || wrong(r, "a list is an object", "feature");
    json_object_foreach(list, key, member)
    {
        if (!ok || json_is_null(member)) continue;
        if (strcmp(key, "value") != 0)
            ok = wrong(r, "Cannot find field", key);
        else if (!json_is_array(member))
            ok = wrong(r, "values are an array", key);
        json_array_foreach(member, i, value)
        {
            ok = ok && put[kind](r, value, &values);
        }
    }
    if (kind == 1)
        bd_strbuf_append_n(&message, bd_strbuf_str(&values), values.len);
    else if (values.len > 0)
        put_bytes(&message, 1, bd_strbuf_str(&values), values.len);
    if (ok) put_message(feature, kind, &message);
    bd_strbuf_fini(&message);
    bd_strbuf_fini(&values);
    return ok;
}

static bool put_feature(json_reader *r, json_t *feature, bd_strbuf *out)
{
    const char *key;
    json_t *member;
    bool ok = json_is_object(feature) || wrong(r, "a feature is an object", "feature");
    json_object_foreach(feature, key, member)
    {
        if (!ok || json_is_null(member)) continue;
        unsigned kind = is_named(key, "bytesList", "bytes_list")   ? 1
                        : is_named(key, "floatList", "float_list") ? 2
                        : is_named(key, "int64List", "int64_list") ? 3
                                                                   : 0;
        ok = kind ? put_list(r, member, kind, out) : wrong(r, "Cannot find field", key);
    }
    return ok;
}

static bool put_features(json_reader *r, json_t *map, bd_strbuf *out)
{
    const char *key;
    json_t *member;
    bool ok = json_is_object(map) || wrong(r, "features are an object", "feature");
    json_object_foreach(map, key, member)
    {
        bd_strbuf feature = {0}, entry = {0};
        ok = ok && put_feature(r, member, &feature);
        put_bytes(&entry, 1, key, strlen(key));
        put_message(&entry, 2, &feature);
        put_message(out, 1, &entry);
    }
    return ok;
}

// The only member of an object; NULL if it is missing or null.
static json_t *only_member(json_reader *r, json_t *object, const char *name)
{
    const char *key;
    json_t *member, *found = NULL;
    if (!json_is_object(object)) {
        wrong(r, "an object is expected", name);
        return NULL;
    }
    json_object_foreach(object, key, member)
    {
        if (strcmp(key, name) == 0)
            found = json_is_null(member) ? NULL : member;
        else
            wrong(r, "Cannot find field", key);
    }
    return r->error ? NULL : found;
}

static void decode_one(bd_op_ctx *c, const braid_tensor *y, int64_t i, const bd_string *s)
{
    json_reader r = {0};
    json_error_t error;
    bd_strbuf features = {0}, example = {0};
    json_t *root = json_loadb(s->data ? s->data : "", s->len, JSON_ALLOW_NUL, &error);
    if (!root) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Error while parsing JSON: %s, in line %d, in element %lld",
                   error.text, error.line, (long long)i);
        return;
    }
    json_t *all = only_member(&r, root, "features"), *map = all ? only_member(&r, all, "feature") : NULL;
    if (map) put_features(&r, map, &features);
    if (r.error) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Error while parsing JSON: %s: %s, in element %lld", r.error,
                   r.where, (long long)i);
    } else {
        if (all) put_message(&example, 1, &features);
        bd_string_put(c, y, i, bd_strbuf_str(&example), example.len);
    }
    bd_strbuf_fini(&features);
    bd_strbuf_fini(&example);
    json_decref(root);
}

static void decode_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_op_failed(c) && !bd_interrupted_at(i); i++)
        decode_one(c, y, i, &bd_tensor_str(x)[i]);
}

BD_OP(DecodeJSONExample) = {
    .signature = "(json_examples: string) -> (binary_examples: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = decode_run}),
    .doc = "Serialized Example messages, made from their JSON form.",
};
