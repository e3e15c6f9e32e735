// Example and SequenceExample in memory.
#include "ops/parsing/example_wire.h"

#include "base/alloc.h"
#include "base/wire.h"
#include "io/little_endian.h"
#include <string.h>

// Field numbers of a Feature.
enum {
    BYTES_LIST = 1,
    FLOAT_LIST = 2,
    INT64_LIST = 3
};

// A BYTES field as a span, without a copy.
static bool get_span(bd_wire_reader *r, bd_span *span)
{
    static const uint8_t nothing;
    bd_wire_reader sub;
    size_t len;
    *span = (bd_span){&nothing, 0};
    if (!bd_wire_get_sub(r, &sub)) return false;
    if (sub.left == 0) return true;
    return bd_wire_get_piece(&sub, &span->data, &len) && (span->len = len, true);
}

// ---- Maps ----

static bool read_entry(bd_span entry, bd_span *key, bd_span *value)
{
    bd_slice slice;
    bd_wire_reader r = bd_wire_reader_block(&slice, entry.data, entry.len);
    uint32_t field;
    bd_wire_type type;
    *key = *value = (bd_span){(const uint8_t *)"", 0};
    while (bd_wire_next(&r, &field, &type)) {
        if (type == BD_WIRE_BYTES && (field == 1 || field == 2))
            get_span(&r, field == 1 ? key : value);
        else
            bd_wire_skip(&r, type);
    }
    return !r.failed;
}

static bool read_map(bd_span map, bd_span_entry_fn fn, void *arg)
{
    bd_slice slice;
    bd_wire_reader r = bd_wire_reader_block(&slice, map.data, map.len);
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&r, &field, &type)) {
        bd_span entry, key, value;
        if (type != BD_WIRE_BYTES || field != 1) {
            bd_wire_skip(&r, type);
            continue;
        }
        if (!get_span(&r, &entry) || !read_entry(entry, &key, &value)) return false;
        fn(arg, key, value);
    }
    return !r.failed;
}

bool bd_span_entries(bd_span message, uint32_t want, bd_span_entry_fn fn, void *arg)
{
    bd_slice slice;
    bd_wire_reader r = bd_wire_reader_block(&slice, message.data, message.len);
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&r, &field, &type)) {
        bd_span map;
        if (type != BD_WIRE_BYTES || field != want) {
            bd_wire_skip(&r, type);
            continue;
        }
        if (!get_span(&r, &map) || !read_map(map, fn, arg)) return false;
    }
    return !r.failed;
}

bool bd_span_next_feature(bd_span *list, bd_span *feature, bool *malformed)
{
    bd_slice slice;
    bd_wire_reader r = bd_wire_reader_block(&slice, list->data, list->len);
    uint32_t field;
    bd_wire_type type;
    bool found = false;
    while (!found && bd_wire_next(&r, &field, &type)) {
        found = type == BD_WIRE_BYTES && field == 1;
        if (found)
            get_span(&r, feature);
        else
            bd_wire_skip(&r, type);
    }
    *malformed = r.failed;
    *list = (bd_span){list->data + (list->len - r.left), r.left};
    return found && !r.failed;
}

// ---- Features ----

// Finds the list of a Feature. If the oneof occurs several times, the last kind counts, and successive lists
// of that kind are joined.
typedef struct list_reader {
    bd_slice slice;
    bd_wire_reader fields; // of the Feature, from the first list of the kind that counts
    uint32_t kind;         // 0: none yet
} list_reader;

static bool find_lists(bd_span feature, list_reader *l)
{
    l->kind = 0;
    l->fields = bd_wire_reader_block(&l->slice, feature.data, feature.len);
    bd_wire_reader r = l->fields, before = r;
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&r, &field, &type)) {
        if (type == BD_WIRE_BYTES && field >= BYTES_LIST && field <= INT64_LIST && field != l->kind) {
            l->kind = field;
            l->fields = before;
        }
        bd_wire_skip(&r, type);
        before = r;
    }
    return !r.failed;
}

// The next list of the kind that counts.
static bool next_list(list_reader *l, bd_wire_reader *list)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&l->fields, &field, &type)) {
        if (type == BD_WIRE_BYTES && field == l->kind) return bd_wire_get_sub(&l->fields, list);
        bd_wire_skip(&l->fields, type);
    }
    return false;
}

static braid_dtype type_of(uint32_t kind)
{
    return kind == BYTES_LIST   ? BRAID_STRING
           : kind == FLOAT_LIST ? BRAID_FLOAT
           : kind == INT64_LIST ? BRAID_INT64
                                : BRAID_INVALID;
}

// Values of a packed field: a number of four bytes, or a varint of up to ten.
static bool count_packed(bd_span packed, uint32_t kind, int64_t *count)
{
    if (kind == FLOAT_LIST) {
        *count += (int64_t)(packed.len / 4);
        return packed.len % 4 == 0;
    }
    size_t run = 0;
    for (size_t i = 0; i < packed.len; i++) {
        bool is_last = packed.data[i] < 0x80;
        *count += is_last;
        run = is_last ? 0 : run + 1;
        if (run == 10) return false;
    }
    return run == 0;
}

// The wire type of a value of this kind when it is not packed.
static bd_wire_type unpacked(uint32_t kind)
{
    return kind == BYTES_LIST ? BD_WIRE_BYTES : kind == FLOAT_LIST ? BD_WIRE_FIXED32 : BD_WIRE_VARINT;
}

static bool count_values(bd_wire_reader *list, uint32_t kind, int64_t *count)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(list, &field, &type)) {
        bd_span packed;
        if (field == 1 && type == BD_WIRE_BYTES && kind != BYTES_LIST) {
            if (!get_span(list, &packed) || !count_packed(packed, kind, count)) return false;
            continue;
        }
        if (field == 1 && type == unpacked(kind)) ++*count;
        bd_wire_skip(list, type);
    }
    return !list->failed;
}

bool bd_feature_scan(bd_span feature, braid_dtype *dtype, int64_t *count)
{
    list_reader l;
    bd_wire_reader list;
    *count = 0;
    if (!find_lists(feature, &l)) return false;
    *dtype = type_of(l.kind);
    while (l.kind && next_list(&l, &list)) {
        if (!count_values(&list, l.kind, count)) return false;
    }
    return !l.fields.failed;
}

static void put_float(const braid_tensor *t, int64_t at, uint32_t bits)
{
    memcpy(&bd_tensor_f32(t)[at], &bits, sizeof bits);
}

static int64_t read_packed(bd_span packed, const braid_tensor *t, int64_t at)
{
    if (t->dtype == BRAID_FLOAT) {
        for (size_t i = 0; i + 4 <= packed.len; i += 4)
            put_float(t, at++, bd_get_le32(packed.data + i));
        return at;
    }
    uint64_t value = 0;
    unsigned shift = 0;
    for (size_t i = 0; i < packed.len; i++) {
        value |= (uint64_t)(packed.data[i] & 0x7f) << shift;
        shift += 7;
        if (packed.data[i] >= 0x80) continue;
        bd_tensor_i64(t)[at++] = (int64_t)value;
        value = shift = 0;
    }
    return at;
}

static bool read_value(bd_wire_reader *list, const braid_tensor *t, int64_t at)
{
    bd_span text;
    uint32_t bits;
    uint64_t value;
    switch (t->dtype) {
    case BRAID_FLOAT:
        if (bd_wire_get_fixed32(list, &bits)) put_float(t, at, bits);
        return true;
    case BRAID_INT64:
        if (bd_wire_get_varint(list, &value)) bd_tensor_i64(t)[at] = (int64_t)value;
        return true;
    default: break;
    }
    if (!get_span(list, &text) || text.len == 0) return true;
    char *copy = bd_try_malloc(text.len);
    if (!copy) return false;
    memcpy(copy, text.data, text.len);
    bd_tensor_str(t)[at] = (bd_string){copy, text.len}; // it was empty
    return true;
}

static bool read_values(bd_wire_reader *list, uint32_t kind, const braid_tensor *t, int64_t *at)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(list, &field, &type)) {
        bd_span packed;
        if (field == 1 && type == BD_WIRE_BYTES && kind != BYTES_LIST) {
            if (get_span(list, &packed)) *at = read_packed(packed, t, *at);
        } else if (field == 1 && type == unpacked(kind)) {
            if (!read_value(list, t, (*at)++)) return false;
        } else {
            bd_wire_skip(list, type);
        }
    }
    return true;
}

bool bd_feature_read(bd_span feature, const braid_tensor *t, int64_t at)
{
    list_reader l;
    bd_wire_reader list;
    if (!find_lists(feature, &l)) return true;
    while (next_list(&l, &list)) {
        if (!read_values(&list, l.kind, t, &at)) return false;
    }
    return true;
}
