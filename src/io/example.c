// Builds Example messages: the functions of <braid/example.h>. Field numbers are those of example.proto and
// feature.proto.
#include <braid/example.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/wire.h"
#include <string.h>

enum {
    EXAMPLE_FEATURES = 1,
    FEATURES_FEATURE = 1,
    MAP_KEY = 1,
    MAP_VALUE = 2,
    LIST_VALUE = 1,
};

// The numbers of Feature's fields.
typedef enum feature_kind {
    BYTES_LIST = 1,
    FLOAT_LIST = 2,
    INT64_LIST = 3
} feature_kind;

typedef struct feature {
    char *name; // owned
    feature_kind kind;
    bd_strbuf values; // the packed numbers, or a field for each byte string
} feature;

struct braid_example {
    BD_ARRAY(feature) features;
    bd_strbuf message; // as serialized last
    braid_status status;
};

static const char *kind_name(feature_kind kind)
{
    static const char *const names[] = {"", "bytes", "floats", "int64s"};
    return names[kind];
}

braid_example *braid_example_new(void)
{
    return bd_calloc(1, sizeof(braid_example));
}

void braid_example_clear(braid_example *e)
{
    if (!e) return;
    for (size_t i = 0; i < e->features.len; i++) {
        bd_free(e->features.items[i].name);
        bd_strbuf_fini(&e->features.items[i].values);
    }
    e->features.len = 0;
    braid_status_clear(&e->status);
}

void braid_example_free(braid_example *e)
{
    if (!e) return;
    braid_example_clear(e);
    bd_array_free(&e->features);
    bd_strbuf_fini(&e->message);
    bd_free(e);
}

// Returns the feature to append to; NULL after an error.
static feature *feature_of(braid_example *e, const char *name, feature_kind kind)
{
    if (!e || e->status.code) return NULL;
    if (!name) {
        bd_fail(&e->status, BRAID_INVALID_ARGUMENT, "A feature of an Example without a name");
        return NULL;
    }
    for (size_t i = 0; i < e->features.len; i++) {
        feature *f = &e->features.items[i];
        if (strcmp(f->name, name) != 0) continue;
        if (f->kind == kind) return f;
        bd_fail(&e->status, BRAID_INVALID_ARGUMENT, "Feature '%s' has %s and cannot have %s too", name,
                kind_name(f->kind), kind_name(kind));
        return NULL;
    }
    bd_array_push(&e->features, (feature){.name = bd_strdup(name), .kind = kind});
    return &e->features.items[e->features.len - 1];
}

static bool values_are_given(braid_example *e, const char *name, const void *values, int64_t count)
{
    if (count == 0 || (values && count > 0)) return true;
    bd_fail(&e->status, BRAID_INVALID_ARGUMENT, "Feature '%s': %lld values%s", name, (long long)count,
            values ? "" : ", but they are NULL");
    return false;
}

static void put_varint(bd_strbuf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        bd_strbuf_append_char(out, (char)(value | 0x80));
    bd_strbuf_append_char(out, (char)value);
}

static void put_head(bd_strbuf *out, uint32_t field, size_t len)
{
    put_varint(out, field << 3 | BD_WIRE_BYTES);
    put_varint(out, len);
}

void braid_example_int64s(braid_example *e, const char *name, const int64_t *values, int count)
{
    feature *f = feature_of(e, name, INT64_LIST);
    if (!f || !values_are_given(e, name, values, count)) return;
    for (int i = 0; i < count; i++)
        put_varint(&f->values, (uint64_t)values[i]);
}

void braid_example_floats(braid_example *e, const char *name, const float *values, int count)
{
    feature *f = feature_of(e, name, FLOAT_LIST);
    if (!f || !values_are_given(e, name, values, count)) return;
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int shift = 0; shift < 32; shift += 8)
            bd_strbuf_append_char(&f->values, (char)(bits >> shift));
    }
}

void braid_example_bytes(braid_example *e, const char *name, const void *data, size_t len)
{
    feature *f = feature_of(e, name, BYTES_LIST);
    if (!f || !values_are_given(e, name, data, (int64_t)len)) return;
    put_head(&f->values, LIST_VALUE, len);
    if (len) bd_strbuf_append_n(&f->values, data, len);
}

// ---- Serializing, from the inside out ----

static size_t list_size(const feature *f)
{
    const size_t len = f->values.len;
    if (f->kind == BYTES_LIST) return len;
    return len ? bd_wire_bytes_field_size(LIST_VALUE, len) : 0;
}

static size_t entry_size(const feature *f)
{
    return bd_wire_bytes_field_size(MAP_KEY, strlen(f->name)) +
           bd_wire_bytes_field_size(MAP_VALUE, bd_wire_bytes_field_size((uint32_t)f->kind, list_size(f)));
}

static void put_entry(bd_strbuf *out, const feature *f)
{
    put_head(out, FEATURES_FEATURE, entry_size(f));
    put_head(out, MAP_KEY, strlen(f->name));
    bd_strbuf_append(out, f->name);
    put_head(out, MAP_VALUE, bd_wire_bytes_field_size((uint32_t)f->kind, list_size(f)));
    put_head(out, (uint32_t)f->kind, list_size(f));
    if (f->kind != BYTES_LIST && f->values.len) put_head(out, LIST_VALUE, f->values.len);
    if (f->values.len) bd_strbuf_append_n(out, f->values.data, f->values.len);
}

const void *braid_example_serialize(braid_example *e, size_t *len, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    *len = 0;
    if (!e) bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no Example");
    if (!e || bd_status_copy(st, &e->status)) return NULL;
    size_t size = 0;
    for (size_t i = 0; i < e->features.len; i++)
        size += bd_wire_bytes_field_size(FEATURES_FEATURE, entry_size(&e->features.items[i]));
    bd_strbuf_clear(&e->message);
    put_head(&e->message, EXAMPLE_FEATURES, size);
    for (size_t i = 0; i < e->features.len; i++)
        put_entry(&e->message, &e->features.items[i]);
    *len = e->message.len;
    return e->message.data;
}
