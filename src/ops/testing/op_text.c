// Reads tensors, shapes, errors and attributes as the tables of op tests write them.
#include "ops/testing/op_text.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "tensor/shape.h"
// cmocka wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *trimmed(const char *text, size_t len)
{
    while (len > 0 && (*text == ' ' || *text == '\n'))
        text++, len--;
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\n'))
        len--;
    return bd_strndup(text, len);
}

// Reads one piece. Its forms: "*", "[ref |var ]DTYPE[SHAPE][ VALUES]".
static void read_piece(char *piece, op_text *out)
{
    *out = (op_text){.dtype = BRAID_FLOAT, .shape = BD_SHAPE_UNKNOWN};
    if (strcmp(piece, "*") == 0) {
        out->is_any = true;
        return;
    }
    out->is_ref = bd_str_starts_with(piece, "ref ");
    out->is_var = bd_str_starts_with(piece, "var ");
    if (out->is_ref || out->is_var) piece += 4;
    size_t name_len = strcspn(piece, "[?");
    if (name_len > 0) {
        out->dtype = bd_dtype_parse(piece, name_len);
        if (out->dtype == BRAID_INVALID) fail_msg("no type of an element: '%s'", piece);
    }
    char *shape = piece + name_len;
    char *end = shape + strcspn(shape, "]?");
    while (*end == '?' && *shape == '[')
        end += 1 + strcspn(end + 1, "]?");
    char *rest = *end ? end + 1 : end;
    char *shape_text = bd_strndup(shape, (size_t)(rest - shape));
    if (!bd_shape_parse(shape_text, &out->shape)) fail_msg("no shape: '%s' in '%s'", shape_text, piece);
    bd_free(shape_text);
    rest += strspn(rest, " ");
    out->has_values = *rest != 0;
    out->values = bd_strdup(rest);
}

int op_text_read(const char *text, op_text out[OP_TEXT_MAX])
{
    int count = 0;
    if (*text == 0) return 0;
    const char *rest = text, *piece;
    size_t len;
    while (bd_split_next(&rest, ';', &piece, &len)) {
        if (count == OP_TEXT_MAX) fail_msg("too many tensors: '%s'", text);
        char *one = trimmed(piece, len);
        read_piece(one, &out[count++]);
        bd_free(one);
    }
    return count;
}

void op_text_fini(op_text *texts, int count)
{
    for (int i = 0; i < count; i++)
        bd_free(texts[i].values);
}

// Resolves `\xHH` in place; returns the new length.
static size_t unescape(char *text)
{
    size_t len = 0;
    for (const char *p = text; *p;) {
        char digits[3] = {0};
        if (p[0] == '\\' && p[1] == 'x' && p[2] && p[3]) {
            memcpy(digits, p + 2, 2);
            text[len++] = (char)strtol(digits, NULL, 16);
            p += 4;
        } else {
            text[len++] = *p++;
        }
    }
    text[len] = 0;
    return len;
}

static void set_string(braid_tensor *t, int64_t i, const char *word)
{
    char *copy = bd_strdup(word);
    size_t len = unescape(copy);
    bd_tensor_string_set(t, i, copy, len);
    bd_free(copy);
}

// "1-2j", "3", "0.5j" as the real and the imaginary part.
static void read_complex(const char *word, double parts[2])
{
    char *end;
    parts[0] = strtod(word, &end);
    parts[1] = *end == '+' || *end == '-' ? strtod(end, NULL) : 0;
    if (*end != 'j') return;
    parts[1] = parts[0];
    parts[0] = 0;
}

static void set_element(braid_tensor *t, int64_t i, const char *word)
{
    double parts[2];
    switch (t->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(t)[i] = strtof(word, NULL); break;
    case BRAID_DOUBLE: bd_tensor_f64(t)[i] = strtod(word, NULL); break;
    case BRAID_QINT32:
    case BRAID_INT32: ((int32_t *)t->data)[i] = (int32_t)strtoll(word, NULL, 0); break;
    case BRAID_INT64: bd_tensor_i64(t)[i] = strtoll(word, NULL, 0); break;
    case BRAID_QUINT8:
    case BRAID_UINT8: ((uint8_t *)t->data)[i] = (uint8_t)strtoll(word, NULL, 0); break;
    case BRAID_QINT8:
    case BRAID_INT8: ((int8_t *)t->data)[i] = (int8_t)strtoll(word, NULL, 0); break;
    case BRAID_HALF:
    case BRAID_BFLOAT16: // their bits
    case BRAID_QUINT16:
    case BRAID_UINT16: ((uint16_t *)t->data)[i] = (uint16_t)strtoll(word, NULL, 0); break;
    case BRAID_QINT16:
    case BRAID_INT16: ((int16_t *)t->data)[i] = (int16_t)strtoll(word, NULL, 0); break;
    case BRAID_UINT32: ((uint32_t *)t->data)[i] = (uint32_t)strtoull(word, NULL, 0); break;
    case BRAID_UINT64: ((uint64_t *)t->data)[i] = strtoull(word, NULL, 0); break;
    case BRAID_BOOL: bd_tensor_bool(t)[i] = strcmp(word, "true") == 0 || strcmp(word, "1") == 0; break;
    case BRAID_COMPLEX64:
        read_complex(word, parts);
        memcpy((float *)t->data + 2 * i, (float[]){(float)parts[0], (float)parts[1]}, 8);
        break;
    case BRAID_COMPLEX128:
        read_complex(word, parts);
        memcpy((double *)t->data + 2 * i, parts, sizeof parts);
        break;
    case BRAID_STRING: set_string(t, i, word); break;
    default: fail_msg("texts have no tensors of %s", braid_dtype_name(t->dtype));
    }
}

void op_text_tensor(const op_text *text, braid_tensor *t)
{
    BD_STATUS(st);
    if (bd_tensor_init(t, text->dtype, &text->shape, st)) fail_msg("%s", braid_status_message(st));
    int64_t count = bd_tensor_count(t), given = 0;
    if (count == 0 && strcmp(text->values, "empty") == 0) return;
    char *copy = bd_strdup(text->values), *save = NULL;
    for (char *word = strtok_r(copy, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        if (given >= count) fail_msg("more values than elements: '%s'", text->values);
        set_element(t, given++, strcmp(word, "''") == 0 ? "" : word);
    }
    if (given == 1) {
        for (int64_t i = 1; i < count; i++)
            set_element(t, i, copy);
    } else if (given != count && t->dtype != BRAID_VARIANT) { // variants are empty
        fail_msg("%d values for %d elements: '%s'", (int)given, (int)count, text->values);
    }
    bd_free(copy);
}

bool op_text_error(const char *want, const char **code, size_t *code_len, const char **words)
{
    const char *colon = strstr(want, ": ");
    if (!colon) return false;
    for (int i = 1; i <= 16; i++) {
        const char *name = braid_code_name((braid_code)i);
        if (strlen(name) == (size_t)(colon - want) && strncmp(name, want, strlen(name)) == 0) {
            *code = want;
            *code_len = (size_t)(colon - want);
            *words = colon + 2;
            return true;
        }
    }
    return false;
}

// "[1,2,2,1]" as integers (also where the list is of floats); returns how many.
static int read_ints(const char *value, int64_t out[BRAID_RANK_MAX * 2])
{
    int count = 0;
    char *end;
    for (const char *p = value + 1; *p && *p != ']' && count < BRAID_RANK_MAX * 2; p = end + (*end == ',')) {
        out[count++] = strtoll(p, &end, 10);
        if (end == p) fail_msg("no list of integers: '%s'", value);
    }
    return count;
}

// "[[2],[],?]" as shapes.
static void set_shapes(braid_op_desc *desc, const char *name, const char *value)
{
    braid_shape shapes[BRAID_RANK_MAX * 2];
    int count = 0;
    for (const char *p = value + 1; *p && *p != ']';) {
        size_t len = *p == '[' ? strcspn(p, "]") + 1 : strcspn(p, ",]");
        char *text = bd_strndup(p, len);
        if (count == BD_COUNTOF(shapes) || !bd_shape_parse(text, &shapes[count++]))
            fail_msg("no list of shapes: '%s'", value);
        bd_free(text);
        p += len + (p[len] == ',');
    }
    braid_op_attr_shape_list(desc, name, shapes, count);
}

// "[a,b]" as strings.
static void set_strings(braid_op_desc *desc, const char *name, const char *value)
{
    char *strings[BRAID_RANK_MAX * 2] = {0};
    int count = 0;
    for (const char *p = value + 1; *p && *p != ']'; count++) {
        size_t len = strcspn(p, ",]");
        if (count == BD_COUNTOF(strings)) fail_msg("too many strings: '%s'", value);
        strings[count] = bd_strndup(p, len);
        unescape(strings[count]);
        p += len + (p[len] == ',');
    }
    braid_op_attr_string_list(desc, name, (const char *const *)strings, count);
    for (int i = 0; i < count; i++)
        bd_free(strings[i]);
}

static void set_string_attr(braid_op_desc *desc, const char *name, const char *value)
{
    char *copy = bd_strdup(value);
    unescape(copy);
    braid_op_attr_string(desc, name, copy);
    bd_free(copy);
}

static void set_list(braid_op_desc *desc, const bd_attr_def *def, const char *value)
{
    int64_t ints[BRAID_RANK_MAX * 2];
    braid_dtype types[BRAID_RANK_MAX * 2];
    int count = 0;
    if (def->item_kind == BD_ATTR_SHAPE || def->item_kind == BD_ATTR_STRING) {
        (def->item_kind == BD_ATTR_SHAPE ? set_shapes : set_strings)(desc, def->name, value);
        return;
    }
    if (def->item_kind == BD_ATTR_INT) {
        count = read_ints(value, ints);
        braid_op_attr_int_list(desc, def->name, ints, count);
    } else if (def->item_kind == BD_ATTR_FLOAT) {
        float floats[BRAID_RANK_MAX * 2];
        char *end;
        for (const char *p = value + 1; *p && *p != ']' && count < BRAID_RANK_MAX * 2;
             p = end + (*end == ',')) {
            floats[count++] = strtof(p, &end);
            if (end == p) fail_msg("no list of numbers: '%s'", value);
        }
        braid_op_attr_float_list(desc, def->name, floats, count);
    } else if (def->item_kind == BD_ATTR_TYPE) {
        for (const char *p = value + 1; *p && *p != ']'; count++) {
            size_t len = strcspn(p, ",]");
            types[count] = bd_dtype_parse(p, len);
            p += len + (p[len] == ',');
        }
        braid_op_attr_type_list(desc, def->name, types, count);
    } else {
        fail_msg("texts have no lists of this kind for attr %s", def->name);
    }
}

static void set_attr(braid_op_desc *desc, const bd_attr_def *def, const char *value)
{
    braid_shape shape;
    braid_tensor tensor;
    op_text text[OP_TEXT_MAX] = {0};
    switch (def->kind) {
    case BD_ATTR_INT: braid_op_attr_int(desc, def->name, strtoll(value, NULL, 0)); break;
    case BD_ATTR_FLOAT: braid_op_attr_float(desc, def->name, strtof(value, NULL)); break;
    case BD_ATTR_BOOL: braid_op_attr_bool(desc, def->name, strcmp(value, "true") == 0); break;
    case BD_ATTR_TYPE: braid_op_attr_type(desc, def->name, bd_dtype_parse(value, strlen(value))); break;
    case BD_ATTR_STRING: set_string_attr(desc, def->name, value); break;
    case BD_ATTR_SHAPE:
        if (!bd_shape_parse(value, &shape)) fail_msg("no shape: '%s'", value);
        braid_op_attr_shape(desc, def->name, shape);
        break;
    case BD_ATTR_TENSOR: {
        int count = op_text_read(value, text);
        if (count != 1) fail_msg("no single tensor: '%s'", value);
        op_text_tensor(&text[0], &tensor);
        braid_op_attr_tensor(desc, def->name, &tensor);
        bd_tensor_fini(&tensor);
        op_text_fini(text, count);
        break;
    }
    case BD_ATTR_LIST: set_list(desc, def, value); break;
    default: fail_msg("texts have no attrs of this kind: %s", def->name);
    }
}

void op_text_attrs(braid_op_desc *desc, const bd_op_def *def, const char *attrs)
{
    if (!attrs) return;
    const char *rest = attrs, *piece;
    size_t len;
    while (bd_split_next(&rest, ';', &piece, &len)) {
        char *one = trimmed(piece, len);
        char *equals = strchr(one, '=');
        if (!equals) fail_msg("attrs are written name=value: '%s'", one);
        *equals = 0;
        const bd_attr_def *attr = bd_op_def_attr(def, one);
        if (!attr) fail_msg("%s has no attr %s", def->name, one);
        set_attr(desc, attr, equals + 1);
        bd_free(one);
    }
}
