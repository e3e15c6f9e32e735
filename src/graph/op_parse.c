// Parsing op definitions: a small recursive descent over their text.
#include "graph/op_parse.h"

#include "base/check.h"
#include "base/strbuf.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *op;    // for messages
    const char *start; // of the text
    const char *p;     // the rest of the text
    bd_arena *arena;
    bd_attr_tensors *tensors;
    braid_status *st;
} parser;

static braid_code fail(parser *s, const char *expected)
{
    return bd_fail(s->st, BRAID_INVALID_ARGUMENT, "Definition of op %s: expected %s at \"%.24s\" of \"%s\"",
                   s->op, expected, s->p, s->start);
}

static void skip_space(parser *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

// Skips `text` if it is next.
static bool take(parser *s, const char *text)
{
    skip_space(s);
    size_t len = strlen(text);
    if (strncmp(s->p, text, len) != 0) return false;
    s->p += len;
    return true;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// Takes an identifier; NULL when there is none.
static const char *take_word(parser *s)
{
    skip_space(s);
    const char *from = s->p;
    while (is_word_char(*s->p))
        s->p++;
    return s->p == from ? NULL : bd_arena_strndup(s->arena, from, (size_t)(s->p - from));
}

// Takes the text up to one of the characters of `ends` (or the end), without spaces around it.
static const char *take_until(parser *s, const char *ends)
{
    skip_space(s);
    const char *from = s->p;
    s->p += strcspn(s->p, ends);
    const char *to = s->p;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    return bd_arena_strndup(s->arena, from, (size_t)(to - from));
}

static char unescape(char c)
{
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    default: return c;
    }
}

// Takes a quoted string.
static braid_code take_string(parser *s, bd_bytes *out)
{
    if (!take(s, "'")) return fail(s, "a quoted string");
    char *text = bd_arena_alloc(s->arena, strlen(s->p) + 1);
    size_t len = 0;
    for (; *s->p && *s->p != '\''; s->p++) {
        char c = *s->p;
        if (c == '\\' && s->p[1]) c = unescape(*++s->p);
        text[len++] = c;
    }
    text[len] = 0;
    *out = (bd_bytes){.data = text, .len = len};
    return take(s, "'") ? BRAID_OK : fail(s, "the end of a string");
}

static braid_code take_int(parser *s, int64_t *out)
{
    const char *from = s->p;
    const char *text = take_until(s, ";,]=} \n");
    if (bd_parse_int64(text, out)) return BRAID_OK;
    s->p = from;
    return fail(s, "an integer");
}

static braid_code take_float(parser *s, float *out)
{
    const char *from = s->p;
    double value;
    if (bd_parse_double(take_until(s, ";,]} \n"), &value)) {
        *out = (float)value;
        return BRAID_OK;
    }
    s->p = from;
    return fail(s, "a number");
}

static braid_code take_bool(parser *s, bool *out)
{
    *out = take(s, "true");
    return *out || take(s, "false") ? BRAID_OK : fail(s, "true or false");
}

static braid_code take_type(parser *s, braid_dtype *out)
{
    const char *from = s->p;
    const char *word = take_word(s);
    *out = word ? bd_dtype_parse(word, strlen(word)) : BRAID_INVALID;
    if (*out != BRAID_INVALID) return BRAID_OK;
    s->p = from;
    return fail(s, "an element type");
}

static braid_code take_shape(parser *s, braid_shape *out)
{
    skip_space(s);
    const char *from = s->p;
    size_t len = *from == '[' ? strcspn(from, "]") + 1 : 1;
    if (strnlen(from, len) == len && bd_shape_parse(bd_arena_strndup(s->arena, from, len), out)) {
        s->p += len;
        return BRAID_OK;
    }
    return fail(s, "a shape");
}

// A TensorProto in text form as far as definitions use it: dtype, dimensions and int_val.
static braid_code take_tensor(parser *s, braid_tensor **out)
{
    if (!take(s, "dtype:")) return fail(s, "dtype:");
    braid_dtype dtype;
    braid_code code = take_type(s, &dtype);
    if (code) return code;
    braid_shape shape = BD_SCALAR;
    if (!take(s, "tensor_shape") || !take(s, "{")) return fail(s, "tensor_shape {");
    while (take(s, "dim")) {
        if (!take(s, "{") || !take(s, "size:") || shape.rank == BRAID_RANK_MAX)
            return fail(s, "dim { size: }");
        skip_space(s);
        if ((code = take_int(s, &shape.dims[shape.rank++]))) return code;
        if (!take(s, "}")) return fail(s, "}");
    }
    if (!take(s, "}")) return fail(s, "}");
    if (dtype != BRAID_UINT8 && dtype != BRAID_INT32) return fail(s, "uint8 or int32 values");
    braid_tensor *t = braid_tensor_new(dtype, shape, s->st);
    if (!t) return s->st->code;
    bd_array_push(s->tensors, t);
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        int64_t value;
        if (!take(s, "int_val:")) return fail(s, "int_val:");
        skip_space(s);
        if ((code = take_int(s, &value))) return code;
        if (dtype == BRAID_UINT8)
            ((uint8_t *)t->data)[i] = (uint8_t)value;
        else
            bd_tensor_i32(t)[i] = (int32_t)value;
    }
    *out = t;
    return BRAID_OK;
}

static braid_code take_value(parser *s, bd_attr_kind kind, bd_attr *out)
{
    *out = (bd_attr){.kind = kind};
    switch (kind) {
    case BD_ATTR_STRING: return take_string(s, &out->s);
    case BD_ATTR_INT: return take_int(s, &out->i);
    case BD_ATTR_FLOAT: return take_float(s, &out->f);
    case BD_ATTR_BOOL: return take_bool(s, &out->b);
    case BD_ATTR_TYPE: return take_type(s, &out->type);
    case BD_ATTR_SHAPE: return take_shape(s, &out->shape);
    case BD_ATTR_TENSOR: return take_tensor(s, &out->tensor);
    default: return fail(s, "an attr type that can have a default");
    }
}

#define LIST_MAX 16 // no definition's default has more items

static void list_set(bd_attr *list, int i, const bd_attr *item)
{
    switch (item->kind) {
    case BD_ATTR_STRING: list->list.s[i] = item->s; break;
    case BD_ATTR_INT: list->list.i[i] = item->i; break;
    case BD_ATTR_FLOAT: list->list.f[i] = item->f; break;
    case BD_ATTR_BOOL: list->list.b[i] = item->b; break;
    case BD_ATTR_TYPE: list->list.type[i] = item->type; break;
    case BD_ATTR_SHAPE: list->list.shape[i] = item->shape; break;
    case BD_ATTR_TENSOR: list->list.tensor[i] = item->tensor; break;
    default: BD_UNREACHABLE();
    }
}

static braid_code take_list(parser *s, bd_attr_kind item_kind, bd_attr *out)
{
    if (!take(s, "[")) return fail(s, "[");
    *out = (bd_attr){.kind = BD_ATTR_LIST, .item_kind = item_kind};
    if (take(s, "]")) return BRAID_OK;
    out->list.s = bd_arena_calloc(s->arena, LIST_MAX, sizeof(braid_shape)); // the largest kind of item
    do {
        bd_attr item;
        skip_space(s);
        braid_code code = take_value(s, item_kind, &item);
        if (code) return code;
        if (out->list.count == LIST_MAX) return fail(s, "a shorter list");
        list_set(out, out->list.count++, &item);
    } while (take(s, ","));
    return take(s, "]") ? BRAID_OK : fail(s, "]");
}

static const struct {
    const char *word;
    bd_attr_kind kind;
} attr_kinds[] = {
    {"string", BD_ATTR_STRING}, {"int", BD_ATTR_INT},     {"float", BD_ATTR_FLOAT},   {"bool", BD_ATTR_BOOL},
    {"type", BD_ATTR_TYPE},     {"shape", BD_ATTR_SHAPE}, {"tensor", BD_ATTR_TENSOR}, {"func", BD_ATTR_FUNC},
};

static braid_code take_kind(parser *s, bd_attr_kind *out)
{
    const char *word = take_word(s);
    for (size_t i = 0; word && i < BD_COUNTOF(attr_kinds); i++) {
        if (strcmp(word, attr_kinds[i].word) == 0) {
            *out = attr_kinds[i].kind;
            return BRAID_OK;
        }
    }
    return fail(s, "an attr type");
}

static braid_code take_allowed_types(parser *s, bd_attr_def *attr)
{
    if (take(s, "number}")) {
        attr->allowed_types = bd_dtypes_number;
        return BRAID_OK;
    }
    if (take(s, "realnumber}")) {
        attr->allowed_types = bd_dtypes_realnumber;
        return BRAID_OK;
    }
    do {
        braid_dtype type;
        braid_code code = take_type(s, &type);
        if (code) return code;
        attr->allowed_types |= BD_DTYPE_BIT(type);
    } while (take(s, ","));
    return take(s, "}") ? BRAID_OK : fail(s, "}");
}

static braid_code take_allowed_strings(parser *s, bd_attr_def *attr)
{
    int count = 1;
    for (const char *p = s->p; *p && *p != '}'; p++)
        count += *p == ',';
    const char **strings = BD_ARENA_ARRAY(s->arena, const char *, (size_t)count);
    int n = 0;
    do {
        bd_bytes quoted = {0};
        skip_space(s);
        if (*s->p == '\'') {
            braid_code code = take_string(s, &quoted);
            if (code) return code;
            strings[n++] = quoted.data;
        } else {
            strings[n++] = take_until(s, ",}");
        }
    } while (take(s, ","));
    attr->allowed_strings = strings;
    attr->allowed_string_count = n;
    return take(s, "}") ? BRAID_OK : fail(s, "}");
}

// +name:type{allowed}>=minimum=default
static braid_code take_attr(parser *s, bd_attr_def *attr)
{
    braid_code code;
    *attr = (bd_attr_def){.is_later = take(s, "+")};
    attr->name = take_word(s);
    if (!attr->name || !take(s, ":")) return fail(s, "name:type");
    if (take(s, "list(")) {
        attr->kind = BD_ATTR_LIST;
        if ((code = take_kind(s, &attr->item_kind))) return code;
        if (!take(s, ")")) return fail(s, ")");
    } else if ((code = take_kind(s, &attr->kind))) {
        return code;
    }
    bd_attr_kind kind = attr->kind == BD_ATTR_LIST ? attr->item_kind : attr->kind;
    if (take(s, "{")) {
        if (kind != BD_ATTR_TYPE && kind != BD_ATTR_STRING) return fail(s, "no set of values");
        code = kind == BD_ATTR_TYPE ? take_allowed_types(s, attr) : take_allowed_strings(s, attr);
        if (code) return code;
    }
    if (take(s, ">=")) {
        if (attr->kind != BD_ATTR_INT && attr->kind != BD_ATTR_LIST) return fail(s, "no minimum");
        attr->has_minimum = true;
        if ((code = take_int(s, &attr->minimum))) return code;
    }
    if (!take(s, "=")) return attr->is_later ? fail(s, "a default") : BRAID_OK;
    attr->has_default = true;
    skip_space(s);
    return attr->kind == BD_ATTR_LIST ? take_list(s, attr->item_kind, &attr->default_value)
                                      : take_value(s, attr->kind, &attr->default_value);
}

static int count_char(const char *text, char c)
{
    int n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

static braid_code take_attrs(parser *s, bd_op_def *def)
{
    def->attrs = BD_ARENA_ARRAY(s->arena, bd_attr_def, (size_t)count_char(s->p, ';') + 1);
    for (skip_space(s); *s->p; skip_space(s)) {
        bd_attr_def attr = {0};
        braid_code code = take_attr(s, &attr);
        if (code) return code;
        if (bd_op_def_attr(def, attr.name)) return fail(s, "no attr twice");
        def->attrs[def->attr_count++] = attr;
        skip_space(s);
        if (*s->p && !take(s, ";")) return fail(s, "; or the end");
    }
    return BRAID_OK;
}

static int attr_index(const bd_op_def *def, const char *name, bd_attr_kind kind, bd_attr_kind item_kind)
{
    const bd_attr_def *attr = bd_op_def_attr(def, name);
    return attr && attr->kind == kind && attr->item_kind == item_kind ? (int)(attr - def->attrs) : -1;
}

// T, N*T, xs..., float, Ref(...) of one of these.
static braid_code take_arg_type(parser *s, const bd_op_def *def, bd_arg_def *arg)
{
    arg->is_ref = take(s, "Ref(");
    const char *word = take_word(s);
    if (!word) return fail(s, "a type");
    if (take(s, "...")) {
        arg->type_list_attr = word;
        arg->type_list_attr_index = attr_index(def, word, BD_ATTR_LIST, BD_ATTR_TYPE);
        if (arg->type_list_attr_index < 0) return fail(s, "a list(type) attr before ...");
        return BRAID_OK;
    }
    if (take(s, "*")) {
        arg->number_attr = word;
        arg->number_attr_index = attr_index(def, word, BD_ATTR_INT, BD_ATTR_NONE);
        if (arg->number_attr_index < 0) return fail(s, "an int attr before *");
        if (!(word = take_word(s))) return fail(s, "a type");
    }
    arg->type_attr_index = attr_index(def, word, BD_ATTR_TYPE, BD_ATTR_NONE);
    if (arg->type_attr_index >= 0)
        arg->type_attr = word;
    else if ((arg->type = bd_dtype_parse(word, strlen(word))) == BRAID_INVALID)
        return fail(s, "an element type or an attr of kind type");
    if (arg->is_ref && !take(s, ")")) return fail(s, ")");
    return BRAID_OK;
}

static braid_code take_args(parser *s, const bd_op_def *def, bd_arg_def **args, int *count)
{
    if (!take(s, "(")) return fail(s, "(");
    *args = BD_ARENA_ARRAY(s->arena, bd_arg_def, (size_t)count_char(s->p, ',') + 1);
    if (take(s, ")")) return BRAID_OK;
    do {
        bd_arg_def *arg = &(*args)[(*count)++];
        *arg = (bd_arg_def){.type_attr_index = -1, .number_attr_index = -1, .type_list_attr_index = -1};
        arg->name = take_word(s);
        if (!arg->name || !take(s, ":")) return fail(s, "name: type");
        braid_code code = take_arg_type(s, def, arg);
        if (code) return code;
    } while (take(s, ","));
    return take(s, ")") ? BRAID_OK : fail(s, ")");
}

braid_code bd_op_def_parse(bd_op_def *def, const char *name, const char *signature, const char *attrs,
                           bd_arena *arena, bd_attr_tensors *tensors, braid_status *st)
{
    parser s = {.op = name, .arena = arena, .tensors = tensors, .st = st};
    def->name = name;
    s.p = s.start = attrs ? attrs : "";
    braid_code code = take_attrs(&s, def);
    if (code) return code;
    s.p = s.start = signature ? signature : "() -> ()";
    if ((code = take_args(&s, def, &def->inputs, &def->input_count))) return code;
    if (!take(&s, "->")) return fail(&s, "->");
    if ((code = take_args(&s, def, &def->outputs, &def->output_count))) return code;
    skip_space(&s);
    return *s.p ? fail(&s, "the end") : BRAID_OK;
}
