// Reading of descriptors: definitions are entered by their full names first, then the types of fields are
// found among them.
#include "proto/descriptor_pool.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/map.h"
#include "base/thread.h"
#include "proto/pack.h"
#include <google/protobuf/descriptor.pb-c.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef Google__Protobuf__FileDescriptorSet file_set;
typedef Google__Protobuf__FileDescriptorProto file_proto;
typedef Google__Protobuf__DescriptorProto message_proto;
typedef Google__Protobuf__FieldDescriptorProto field_proto;
typedef Google__Protobuf__EnumDescriptorProto enum_proto;

#define FIELD_NUMBER_MAX 536870911 // 29 bits

typedef struct enum_type {
    char *name;
    const enum_proto *proto;
    ProtobufCEnumDescriptor descriptor;
} enum_type;

struct bd_message_type {
    char *name; // full
    const message_proto *proto;
    bd_message_field *fields;     // [field_count], by number
    bd_message_field *extensions; // [extension_count]
    int field_count, extension_count;
    BD_ARRAY(ProtobufCFieldDescriptor) c_fields; // of `descriptor`, whose fields have no groups
    ProtobufCMessageDescriptor descriptor;
};

// A field outside its message.
typedef struct extension {
    const field_proto *proto;
    const char *scope; // of its definition
    char *name;        // full
} extension;

struct bd_descriptor_pool {
    bd_proto_arena arena;   // of the descriptors
    bd_map messages, enums; // by full name
    BD_ARRAY(extension) extensions;
    BD_ARRAY(char *) texts; // scopes, and unescaped defaults
};

static const char *const type_names[] = {
    "?",     "double",  "float", "int64",  "uint64", "int32",    "fixed64",  "fixed32", "bool",  "string",
    "group", "message", "bytes", "uint32", "enum",   "sfixed32", "sfixed64", "sint32",  "sint64"};

const char *bd_field_type_name(bd_field_type type)
{
    return type_names[type];
}

static char *keep(bd_descriptor_pool *pool, char *text)
{
    bd_array_push(&pool->texts, text);
    return text;
}

// ---- Definitions ----

static char *joined(const char *scope, const char *name)
{
    return scope[0] ? bd_asprintf("%s.%s", scope, name) : bd_strdup(name);
}

static braid_code define(bd_descriptor_pool *pool, bd_map *map, const char *scope, const char *name,
                         void *definition, char **full, braid_status *st)
{
    *full = keep(pool, joined(scope, name ? name : ""));
    if (!name || !name[0])
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a definition in '%s' has no name", scope);
    if (bd_map_get(&pool->messages, *full) || bd_map_get(&pool->enums, *full))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s is defined twice", *full);
    bd_map_put(map, *full, definition);
    return BRAID_OK;
}

static braid_code define_enum(bd_descriptor_pool *pool, const char *scope, const enum_proto *proto,
                              braid_status *st)
{
    enum_type *e = bd_calloc(1, sizeof *e);
    e->proto = proto;
    const braid_code code = define(pool, &pool->enums, scope, proto->name, e, &e->name, st);
    if (code) bd_free(e);
    return code;
}

static void define_extensions(bd_descriptor_pool *pool, const char *scope, field_proto *const *protos,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *name = keep(pool, joined(scope, protos[i]->name ? protos[i]->name : ""));
        bd_array_push(&pool->extensions, (extension){.proto = protos[i], .scope = scope, .name = name});
    }
}

// Recursion: bd_proto_unpack has limited the depth.
static braid_code define_message(bd_descriptor_pool *pool, const char *scope, const message_proto *proto,
                                 braid_status *st)
{
    bd_message_type *m = bd_calloc(1, sizeof *m);
    m->proto = proto;
    braid_code code = define(pool, &pool->messages, scope, proto->name, m, &m->name, st);
    if (code) {
        bd_free(m);
        return code;
    }
    for (size_t i = 0; i < proto->n_nested_type && !code; i++)
        code = define_message(pool, m->name, proto->nested_type[i], st);
    for (size_t i = 0; i < proto->n_enum_type && !code; i++)
        code = define_enum(pool, m->name, proto->enum_type[i], st);
    define_extensions(pool, m->name, proto->extension, proto->n_extension);
    return code;
}

static braid_code define_file(bd_descriptor_pool *pool, const file_proto *file, braid_status *st)
{
    const char *package = file->package ? file->package : "";
    braid_code code = BRAID_OK;
    for (size_t i = 0; i < file->n_message_type && !code; i++)
        code = define_message(pool, package, file->message_type[i], st);
    for (size_t i = 0; i < file->n_enum_type && !code; i++)
        code = define_enum(pool, package, file->enum_type[i], st);
    define_extensions(pool, package, file->extension, file->n_extension);
    return code;
}

// The definition of a name that is used in a scope: ".a.B" is a full name, "B" is looked for from the scope
// outwards.
static void *resolve(const bd_map *map, const char *scope, const char *name)
{
    if (name[0] == '.') return bd_map_get(map, name + 1);
    char *within = bd_strdup(scope);
    void *found = NULL;
    for (char *end = within + strlen(within); !found && end;) {
        *end = '\0';
        char *full = joined(within, name);
        found = bd_map_get(map, full);
        bd_free(full);
        if (!within[0]) break;
        char *dot = strrchr(within, '.');
        end = dot ? dot : within;
    }
    bd_free(within);
    return found;
}

// ---- Enums ----

static int compare_values(const void *a, const void *b)
{
    const int x = ((const ProtobufCEnumValue *)a)->value, y = ((const ProtobufCEnumValue *)b)->value;
    return x < y ? -1 : x > y;
}

static int compare_indexes(const void *a, const void *b)
{
    return strcmp(((const ProtobufCEnumValueIndex *)a)->name, ((const ProtobufCEnumValueIndex *)b)->name);
}

// Ranges of consecutive numbers, as protobuf-c looks numbers up; an entry behind the last one ends them.
static ProtobufCIntRange *ranges_of(const int *numbers, unsigned count, unsigned *range_count)
{
    ProtobufCIntRange *ranges = bd_calloc((size_t)count + 1, sizeof *ranges);
    *range_count = 0;
    for (unsigned i = 0; i < count; i++)
        if (i == 0 || numbers[i] != (int64_t)numbers[i - 1] + 1)
            ranges[(*range_count)++] = (ProtobufCIntRange){.start_value = numbers[i], .orig_index = i};
    ranges[*range_count] = (ProtobufCIntRange){.orig_index = count};
    return ranges;
}

static braid_code finish_enum(enum_type *e, braid_status *st)
{
    const unsigned count = (unsigned)e->proto->n_value;
    ProtobufCEnumValue *values = bd_calloc((size_t)count + 1, sizeof *values);
    ProtobufCEnumValueIndex *names = bd_calloc((size_t)count + 1, sizeof *names);
    int *numbers = bd_calloc((size_t)count + 1, sizeof *numbers);
    e->descriptor = (ProtobufCEnumDescriptor){.magic = PROTOBUF_C__ENUM_DESCRIPTOR_MAGIC,
                                              .name = e->name,
                                              .short_name = e->name,
                                              .c_name = "",
                                              .package_name = "",
                                              .n_values = count,
                                              .values = values,
                                              .n_value_names = count,
                                              .values_by_name = names};
    braid_code code =
        count == 0 ? bd_fail(st, BRAID_INVALID_ARGUMENT, "enum %s has no values", e->name) : BRAID_OK;
    for (unsigned i = 0; i < count && !code; i++) {
        const Google__Protobuf__EnumValueDescriptorProto *v = e->proto->value[i];
        if (!v->name) code = bd_fail(st, BRAID_INVALID_ARGUMENT, "a value of enum %s has no name", e->name);
        values[i] = (ProtobufCEnumValue){.name = v->name, .c_name = "", .value = v->number};
    }
    if (!code) {
        qsort(values, count, sizeof *values, compare_values);
        for (unsigned i = 0; i < count; i++) {
            names[i] = (ProtobufCEnumValueIndex){.name = values[i].name, .index = i};
            numbers[i] = values[i].value;
        }
        qsort(names, count, sizeof *names, compare_indexes);
    }
    e->descriptor.value_ranges = ranges_of(numbers, code ? 0 : count, &e->descriptor.n_value_ranges);
    bd_free(numbers);
    return code;
}

// ---- Defaults ----

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return INT_MAX;
}

// Reads up to `digits` digits of a base; moves behind them.
static unsigned read_digits(const char **at, int base, int digits)
{
    unsigned value = 0;
    for (int i = 0; i < digits && digit_of(**at) < base; i++)
        value = value * (unsigned)base + (unsigned)digit_of(*(*at)++);
    return value;
}

// Defaults of bytes are escaped as in C. Writes at most strlen(text) bytes.
static size_t unescape(const char *text, char *out)
{
    static const char letters[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";
    size_t len = 0;
    while (*text) {
        if (*text != '\\' || !text[1]) {
            out[len++] = *text++;
            continue;
        }
        const char escape = *++text;
        const char *letter = strchr(letters, escape);
        if (escape == 'x' || escape == 'X') {
            text++;
            out[len++] = (char)read_digits(&text, 16, 2);
        } else if (escape >= '0' && escape <= '7') {
            out[len++] = (char)read_digits(&text, 8, 3);
        } else {
            out[len++] = letter ? bytes[letter - letters] : escape;
            text++;
        }
    }
    return len;
}

static bool read_number(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end;
}

static bool read_integer(const char *text, bool is_signed, uint64_t *bits)
{
    char *end;
    errno = 0;
    *bits = is_signed ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    return end != text && !*end && errno == 0 && (is_signed || text[0] != '-');
}

static bool read_enumerator(const enum_proto *e, const char *name, uint64_t *bits)
{
    for (size_t i = 0; i < e->n_value; i++) {
        if (strcmp(e->value[i]->name, name) != 0) continue;
        *bits = (uint64_t)(int64_t)e->value[i]->number;
        return true;
    }
    return false;
}

// The default that the text gives; false: it is none of the field's type.
static bool read_default(bd_descriptor_pool *pool, const enum_type *e, const char *text, bd_message_field *f)
{
    switch (f->type) {
    case BD_FIELD_DOUBLE:
    case BD_FIELD_FLOAT: return read_number(text, &f->default_number);
    case BD_FIELD_INT64:
    case BD_FIELD_INT32:
    case BD_FIELD_SFIXED32:
    case BD_FIELD_SFIXED64:
    case BD_FIELD_SINT32:
    case BD_FIELD_SINT64: return read_integer(text, true, &f->default_bits);
    case BD_FIELD_UINT64:
    case BD_FIELD_FIXED64:
    case BD_FIELD_FIXED32:
    case BD_FIELD_UINT32: return read_integer(text, false, &f->default_bits);
    case BD_FIELD_BOOL:
        f->default_bits = strcmp(text, "true") == 0;
        return f->default_bits || strcmp(text, "false") == 0;
    case BD_FIELD_ENUM: return read_enumerator(e->proto, text, &f->default_bits);
    case BD_FIELD_STRING:
        f->default_bytes = text;
        f->default_len = strlen(text);
        return true;
    case BD_FIELD_BYTES: {
        char *bytes = keep(pool, bd_strdup(text));
        f->default_len = unescape(text, bytes);
        f->default_bytes = bytes;
        return true;
    }
    default: return false;
    }
}

// ---- Fields ----

static bool is_valid_type(const field_proto *p)
{
    const int type = (int)p->type;
    return p->has_type && type >= BD_FIELD_DOUBLE && type <= BD_FIELD_SINT64;
}

// Reads a field of `owner` that was defined in `scope`. `*e` is the enum of its type, or NULL.
static braid_code read_field(bd_descriptor_pool *pool, const char *owner, const char *scope,
                             const field_proto *p, bd_message_field *f, const enum_type **e, braid_status *st)
{
    *e = NULL;
    if (!p->name || !p->name[0])
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a field of %s has no name", owner);
    if (!p->has_number || p->number < 1 || p->number > FIELD_NUMBER_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "field %s.%s has the number %d", owner, p->name,
                       p->number);
    *f = (bd_message_field){.name = p->name,
                            .number = (uint32_t)p->number,
                            .is_repeated =
                                p->label == GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_REPEATED,
                            .is_packed = p->options && p->options->has_packed && p->options->packed,
                            .default_bytes = ""};
    if (p->type_name) {
        f->message = resolve(&pool->messages, scope, p->type_name);
        *e = f->message ? NULL : resolve(&pool->enums, scope, p->type_name);
    }
    f->type = is_valid_type(p) ? (bd_field_type)p->type
              : p->has_type    ? 0
              : f->message     ? BD_FIELD_MESSAGE
              : *e             ? BD_FIELD_ENUM
                               : 0;
    const bool is_message = f->type == BD_FIELD_MESSAGE || f->type == BD_FIELD_GROUP;
    if (f->type == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "field %s.%s has no known type", owner, p->name);
    if ((is_message && !f->message) || (f->type == BD_FIELD_ENUM && !*e))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "field %s.%s has the type '%s', which is not defined",
                       owner, p->name, p->type_name ? p->type_name : "");
    if (!is_message) f->message = NULL;
    if (f->type == BD_FIELD_ENUM) f->default_bits = (uint64_t)(int64_t)(*e)->proto->value[0]->number;
    if (p->default_value && !f->is_repeated && !read_default(pool, *e, p->default_value, f))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "field %s.%s has the default '%s', which is not of type %s", owner, p->name,
                       p->default_value, bd_field_type_name(f->type));
    return BRAID_OK;
}

// protobuf-c's names for the types.
static const ProtobufCType c_types[] = {
    [BD_FIELD_DOUBLE] = PROTOBUF_C_TYPE_DOUBLE,     [BD_FIELD_FLOAT] = PROTOBUF_C_TYPE_FLOAT,
    [BD_FIELD_INT64] = PROTOBUF_C_TYPE_INT64,       [BD_FIELD_UINT64] = PROTOBUF_C_TYPE_UINT64,
    [BD_FIELD_INT32] = PROTOBUF_C_TYPE_INT32,       [BD_FIELD_FIXED64] = PROTOBUF_C_TYPE_FIXED64,
    [BD_FIELD_FIXED32] = PROTOBUF_C_TYPE_FIXED32,   [BD_FIELD_BOOL] = PROTOBUF_C_TYPE_BOOL,
    [BD_FIELD_STRING] = PROTOBUF_C_TYPE_STRING,     [BD_FIELD_MESSAGE] = PROTOBUF_C_TYPE_MESSAGE,
    [BD_FIELD_BYTES] = PROTOBUF_C_TYPE_BYTES,       [BD_FIELD_UINT32] = PROTOBUF_C_TYPE_UINT32,
    [BD_FIELD_ENUM] = PROTOBUF_C_TYPE_ENUM,         [BD_FIELD_SFIXED32] = PROTOBUF_C_TYPE_SFIXED32,
    [BD_FIELD_SFIXED64] = PROTOBUF_C_TYPE_SFIXED64, [BD_FIELD_SINT32] = PROTOBUF_C_TYPE_SINT32,
    [BD_FIELD_SINT64] = PROTOBUF_C_TYPE_SINT64};

static ProtobufCFieldDescriptor c_field(const field_proto *p, const bd_message_field *f, const enum_type *e)
{
    const void *type = f->message ? (const void *)&f->message->descriptor
                       : e        ? (const void *)&e->descriptor
                                  : NULL;
    return (ProtobufCFieldDescriptor){
        .name = f->name,
        .id = f->number,
        .label = f->is_repeated ? PROTOBUF_C_LABEL_REPEATED : PROTOBUF_C_LABEL_OPTIONAL,
        .type = c_types[f->type],
        .quantifier_offset = p->has_oneof_index ? (unsigned)p->oneof_index : 0, // tells oneofs apart
        .descriptor = type,
        .flags = (f->is_packed ? PROTOBUF_C_FIELD_FLAG_PACKED : 0U) |
                 (p->has_oneof_index ? PROTOBUF_C_FIELD_FLAG_ONEOF : 0U)};
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = ((const bd_message_field *)a)->number, y = ((const bd_message_field *)b)->number;
    return x < y ? -1 : x > y;
}

static int compare_c_numbers(const void *a, const void *b)
{
    const uint32_t x = ((const ProtobufCFieldDescriptor *)a)->id,
                   y = ((const ProtobufCFieldDescriptor *)b)->id;
    return x < y ? -1 : x > y;
}

typedef struct named {
    const char *name;
    unsigned index;
} named;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

// Makes protobuf-c's descriptor of the fields.
static braid_code finish_descriptor(bd_message_type *m, braid_status *st)
{
    const unsigned count = (unsigned)m->c_fields.len;
    bd_array_reserve(&m->c_fields, m->c_fields.len + 1); // also where there are none
    ProtobufCFieldDescriptor *fields = m->c_fields.items;
    named *names = bd_calloc((size_t)count + 1, sizeof *names);
    unsigned *by_name = bd_calloc((size_t)count + 1, sizeof *by_name);
    int *numbers = bd_calloc((size_t)count + 1, sizeof *numbers);
    braid_code code = BRAID_OK;
    qsort(fields, count, sizeof *fields, compare_c_numbers);
    for (unsigned i = 0; i < count; i++) {
        names[i] = (named){fields[i].name, i};
        numbers[i] = (int)fields[i].id;
    }
    qsort(names, count, sizeof *names, compare_names);
    for (unsigned i = 0; i < count; i++) {
        by_name[i] = names[i].index;
        if (i > 0 && strcmp(names[i].name, names[i - 1].name) == 0)
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "%s has the field %s twice", m->name, names[i].name);
        if (i > 0 && numbers[i] == numbers[i - 1])
            code =
                bd_fail(st, BRAID_INVALID_ARGUMENT, "%s has the field number %d twice", m->name, numbers[i]);
    }
    m->descriptor = (ProtobufCMessageDescriptor){.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
                                                 .name = m->name,
                                                 .short_name = m->name,
                                                 .c_name = "",
                                                 .package_name = "",
                                                 .n_fields = count,
                                                 .fields = fields,
                                                 .fields_sorted_by_name = by_name};
    m->descriptor.field_ranges = ranges_of(numbers, count, &m->descriptor.n_field_ranges);
    bd_free(names);
    bd_free(numbers);
    return code;
}

static braid_code read_fields(bd_descriptor_pool *pool, bd_message_type *m, braid_status *st)
{
    const size_t count = m->proto->n_field;
    m->fields = bd_calloc(count + 1, sizeof *m->fields);
    for (size_t i = 0; i < count; i++) {
        const enum_type *e;
        bd_message_field *f = &m->fields[m->field_count];
        const braid_code code = read_field(pool, m->name, m->name, m->proto->field[i], f, &e, st);
        if (code) return code;
        m->field_count++;
        if (f->type != BD_FIELD_GROUP) bd_array_push(&m->c_fields, c_field(m->proto->field[i], f, e));
    }
    qsort(m->fields, (size_t)m->field_count, sizeof *m->fields, compare_numbers);
    return BRAID_OK;
}

static braid_code read_extension(bd_descriptor_pool *pool, const extension *x, braid_status *st)
{
    const enum_type *e;
    bd_message_field f = {0};
    const char *extendee = x->proto->extendee ? x->proto->extendee : "";
    bd_message_type *m = resolve(&pool->messages, x->scope, extendee);
    if (!m)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s extends '%s', which is not defined", x->name,
                       extendee);
    const braid_code code = read_field(pool, m->name, x->scope, x->proto, &f, &e, st);
    if (code) return code;
    f.name = x->name;
    m->extensions = bd_realloc(m->extensions, ((size_t)m->extension_count + 1) * sizeof f);
    m->extensions[m->extension_count++] = f;
    f.name = keep(pool, bd_asprintf("[%s]", x->name)); // as texts name it
    if (f.type != BD_FIELD_GROUP) bd_array_push(&m->c_fields, c_field(x->proto, &f, e));
    return BRAID_OK;
}

// ---- The pool ----

static braid_code finish(bd_descriptor_pool *pool, braid_status *st)
{
    braid_code code = BRAID_OK;
    size_t pos = 0;
    void *value;
    while (!code && bd_map_next(&pool->enums, &pos, NULL, &value))
        code = finish_enum(value, st);
    pos = 0;
    while (!code && bd_map_next(&pool->messages, &pos, NULL, &value))
        code = read_fields(pool, value, st);
    for (size_t i = 0; i < pool->extensions.len && !code; i++)
        code = read_extension(pool, &pool->extensions.items[i], st);
    pos = 0;
    while (!code && bd_map_next(&pool->messages, &pos, NULL, &value))
        code = finish_descriptor(value, st);
    return code;
}

braid_code bd_descriptor_pool_new(const void *data, size_t len, bd_descriptor_pool **out, braid_status *st)
{
    *out = NULL;
    bd_descriptor_pool *pool = bd_calloc(1, sizeof *pool);
    const file_set *set =
        bd_proto_unpack(&google__protobuf__file_descriptor_set__descriptor, data, len, &pool->arena, st);
    braid_code code = set ? BRAID_OK : st->code;
    for (size_t i = 0; set && i < set->n_file && !code; i++)
        code = define_file(pool, set->file[i], st);
    if (!code) code = finish(pool, st);
    if (code)
        bd_descriptor_pool_free(pool);
    else
        *out = pool;
    return code;
}

static void free_enum(enum_type *e)
{
    bd_free((void *)e->descriptor.values);
    bd_free((void *)e->descriptor.values_by_name);
    bd_free((void *)e->descriptor.value_ranges);
    bd_free(e);
}

static void free_message(bd_message_type *m)
{
    bd_array_free(&m->c_fields);
    bd_free((void *)m->descriptor.fields_sorted_by_name);
    bd_free((void *)m->descriptor.field_ranges);
    bd_free(m->fields);
    bd_free(m->extensions);
    bd_free(m);
}

void bd_descriptor_pool_free(bd_descriptor_pool *pool)
{
    if (!pool) return;
    size_t pos = 0;
    void *value;
    while (bd_map_next(&pool->enums, &pos, NULL, &value))
        free_enum(value);
    pos = 0;
    while (bd_map_next(&pool->messages, &pos, NULL, &value))
        free_message(value);
    bd_map_fini(&pool->enums);
    bd_map_fini(&pool->messages);
    for (size_t i = 0; i < pool->texts.len; i++)
        bd_free(pool->texts.items[i]);
    bd_array_free(&pool->texts);
    bd_array_free(&pool->extensions);
    bd_proto_arena_fini(&pool->arena);
    bd_free(pool);
}

extern const uint8_t bd_proto_descriptors[];
extern const size_t bd_proto_descriptors_len;

static bd_once of_braid_once = BD_ONCE_INIT;
static bd_descriptor_pool *of_braid;

static void make_of_braid(void *arg)
{
    (void)arg;
    BD_STATUS(st);
    bd_descriptor_pool_new(bd_proto_descriptors, bd_proto_descriptors_len, &of_braid, st);
    BD_ASSERT(of_braid); // the build has made them
}

const bd_descriptor_pool *bd_descriptor_pool_of_braid(void)
{
    bd_once_run(&of_braid_once, make_of_braid, NULL);
    return of_braid;
}

// ---- Looking up ----

const bd_message_type *bd_descriptor_pool_find(const bd_descriptor_pool *pool, const char *name)
{
    return bd_map_get(&pool->messages, name);
}

const char *bd_message_type_name(const bd_message_type *type)
{
    return type->name;
}

int bd_message_type_field_count(const bd_message_type *type)
{
    return type->field_count;
}

const bd_message_field *bd_message_type_field(const bd_message_type *type, int i)
{
    return &type->fields[i];
}

const bd_message_field *bd_message_type_find(const bd_message_type *type, const char *name)
{
    for (int i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, name) == 0) return &type->fields[i];
    for (int i = 0; i < type->extension_count; i++)
        if (strcmp(type->extensions[i].name, name) == 0) return &type->extensions[i];
    return NULL;
}

const ProtobufCMessageDescriptor *bd_message_type_descriptor(const bd_message_type *type)
{
    return &type->descriptor;
}
