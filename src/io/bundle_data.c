// Elements of tensors in data files.
//
// Plain types are their bytes in memory, on machines like ours. A string tensor is
//
//     varint64 length of each element | uint32 masked crc32c of the lengths | the bytes of all elements
//
// where the checksum is that of each length as uint32, or as uint64 if it does not fit. The entry's checksum
// goes on from there over the four bytes of that masked one and all bytes. A tensor of variants is, for each
// element,
//
//     varint64 length | VariantTensorDataProto | uint32 masked crc32c
//
// where the checksum is the entry's so far, which goes on over each length as uint64, the bytes and the
// masked one.
#include "io/bundle_data.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "io/crc32c.h"
#include "io/little_endian.h"
#include "io/varint.h"
#include "tensor/tensor_list.h"
#include "tensor/variant_proto.h"
#include <inttypes.h>
#include <string.h>

// Bytes that are checked and moved at a time: they stay in the cache between the two.
#define PIECE_BYTES ((size_t)512 << 10)

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are written as they lie in memory, which must be little-endian"
#endif

bool bd_bundle_type_ok(braid_dtype dtype)
{
    return dtype == BRAID_STRING || dtype == BRAID_VARIANT ||
           (!bd_dtype_is_ref(dtype) && braid_dtype_size(dtype) > 0);
}

// ---- Writing ----

static braid_code put_checked(bd_output *out, const void *data, size_t len, uint32_t *crc, braid_status *st)
{
    *crc = bd_crc32c_extend(*crc, data, len);
    return bd_output_put(out, data, len, st);
}

static braid_code put_plain(bd_output *out, const braid_tensor *t, bd_bundle_entry *e, uint32_t *crc,
                            braid_status *st)
{
    size_t bytes = (size_t)bd_tensor_count(t) * braid_dtype_size(t->dtype);
    const char *data = t->data;
    // A variable may change between checking and writing: its bytes are copied before both.
    char *copy =
        t->buffer && t->buffer->is_variable ? bd_malloc(bytes < PIECE_BYTES ? bytes : PIECE_BYTES) : NULL;
    braid_code code = BRAID_OK;
    for (size_t at = 0, len; at < bytes && !code; at += len) {
        len = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        if (copy) memcpy(copy, data + at, len);
        code = put_checked(out, copy ? copy : data + at, len, crc, st);
    }
    bd_free(copy);
    e->size = (int64_t)bytes;
    return code;
}

static uint32_t crc_of_length(uint32_t crc, uint64_t length)
{
    uint8_t bytes[8];
    bd_put_le64(bytes, length);
    return bd_crc32c_extend(crc, bytes, length <= UINT32_MAX ? 4 : 8);
}

static braid_code put_strings(bd_output *out, const braid_tensor *t, bd_bundle_entry *e, uint32_t *crc,
                              braid_status *st)
{
    const bd_string *strings = bd_tensor_str(t);
    int64_t count = bd_tensor_count(t);
    uint64_t start = bd_output_offset(out);
    uint8_t bytes[BD_VARINT_BYTES_MAX];
    braid_code code = BRAID_OK;
    for (int64_t i = 0; i < count && !code; i++) {
        *crc = crc_of_length(*crc, strings[i].len);
        code = bd_output_put(out, bytes, bd_put_varint(bytes, strings[i].len), st);
    }
    bd_put_le32(bytes, bd_crc32c_mask(*crc));
    if (!code) code = put_checked(out, bytes, 4, crc, st);
    for (int64_t i = 0; i < count && !code; i++)
        code = put_checked(out, strings[i].data, strings[i].len, crc, st);
    e->size = (int64_t)(bd_output_offset(out) - start);
    return code;
}

static braid_code put_variant(bd_output *out, const bd_variant *v, uint32_t *crc, braid_status *st)
{
    size_t len = bd_variant_proto_size(v);
    char *data = bd_try_malloc(len + 1);
    uint8_t head[BD_VARINT_BYTES_MAX], bytes[8];
    if (!data) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a variant of %zu bytes", len);
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_variant_proto_write(v, &w);
    bd_wire_writer_finish(&w);
    bd_message_gather(&m, data);
    bd_message_fini(&m);
    bd_put_le64(bytes, len);
    *crc = bd_crc32c_extend(*crc, bytes, 8);
    braid_code code = bd_output_put(out, head, bd_put_varint(head, len), st);
    if (!code) code = put_checked(out, data, len, crc, st);
    bd_put_le32(bytes, bd_crc32c_mask(*crc));
    if (!code) code = put_checked(out, bytes, 4, crc, st);
    bd_free(data);
    return code;
}

static braid_code put_variants(bd_output *out, const braid_tensor *t, bd_bundle_entry *e, uint32_t *crc,
                               braid_status *st)
{
    uint64_t start = bd_output_offset(out);
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        bd_variant *v = bd_tensor_variant(t)[i];
        if (v && !bd_tensor_list_of(v))
            return bd_fail(st, BRAID_UNIMPLEMENTED, "a value of type %s cannot be saved", v->type->name);
        braid_code code = put_variant(out, v, crc, st);
        if (code) return code;
    }
    e->size = (int64_t)(bd_output_offset(out) - start);
    return BRAID_OK;
}

braid_code bd_bundle_data_put(bd_output *out, const braid_tensor *t, bd_bundle_entry *e, braid_status *st)
{
    uint32_t crc = 0;
    braid_code code = t->dtype == BRAID_STRING    ? put_strings(out, t, e, &crc, st)
                      : t->dtype == BRAID_VARIANT ? put_variants(out, t, e, &crc, st)
                                                  : put_plain(out, t, e, &crc, st);
    e->crc = bd_crc32c_mask(crc);
    return code;
}

// ---- Reading ----

static braid_code lost(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e, const char *why,
                       braid_status *st)
{
    char *name = bd_bundle_key_print(key);
    bd_fail(st, BRAID_DATA_LOSS, "%s: key %s (%" PRId64 " bytes at offset %" PRId64 "): %s",
            shard->file->path, name, e->size, e->offset, why);
    bd_free(name);
    return BRAID_DATA_LOSS;
}

static braid_code check_range(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                              braid_status *st)
{
    if ((uint64_t)e->offset <= shard->size && (uint64_t)e->size <= shard->size - (uint64_t)e->offset)
        return BRAID_OK;
    return lost(shard, key, e, "the file ends before", st);
}

// Checks the number of bytes against the shape before memory is allocated.
static braid_code check_size(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                             braid_status *st)
{
    int64_t count = bd_shape_count(&e->shape), bytes;
    bool fits;
    if (e->dtype == BRAID_STRING) {
        fits = count <= e->size && (count == 0 || count <= e->size - 4);
    } else if (e->dtype == BRAID_VARIANT) {
        fits = count <= e->size / 5;
    } else {
        fits =
            !__builtin_mul_overflow(count, (int64_t)braid_dtype_size(e->dtype), &bytes) && bytes == e->size;
    }
    if (!fits) return lost(shard, key, e, "Invalid size in bundle entry: it does not fit type and shape", st);
    return check_range(shard, key, e, st);
}

static braid_code check_crc(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                            uint32_t crc, braid_status *st)
{
    return bd_crc32c_mask(crc) == e->crc ? BRAID_OK : lost(shard, key, e, "Checksum does not match", st);
}

// Other values than 0 and 1 must not become a bool.
static void normalize_bools(uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = bytes[i] != 0;
}

// Reads the bytes of an entry from `at` up to `end`, and extends `crc` by them.
static braid_code get_range(const bd_bundle_shard *shard, const bd_bundle_entry *e, char *out, size_t at,
                            size_t end, uint32_t *crc, braid_status *st)
{
    for (size_t len; at < end; at += len) {
        len = bd_min(end - at, PIECE_BYTES);
        const braid_code code = bd_file_read_exact(shard->file, (uint64_t)e->offset + at, out + at, len, st);
        if (code) return code;
        *crc = bd_crc32c_extend(*crc, out + at, len);
    }
    return BRAID_OK;
}

// A large tensor is read in parts by a team. A part begins where a huge page of the memory does, so that no
// two threads clear the same page; the first is shorter. The parts are dealt out in their order.
#define PART_BYTES_MIN ((size_t)4 << 20)
#define PARTS_MAX 256

struct parts {
    const bd_bundle_shard *shard;
    const bd_bundle_entry *e;
    char *out;
    size_t bytes, part, first, count; // `first`: bytes of the first part
    uint32_t crcs[PARTS_MAX];
    atomic_size_t next;
    bd_mutex mu;
    size_t failed;    // guarded by mu: the first part that could not be read; SIZE_MAX: none
    braid_status *st; // guarded by mu: of that part
};

static size_t begin_of(const struct parts *p, size_t i)
{
    return i == 0 ? 0 : bd_min(p->first + (i - 1) * p->part, p->bytes);
}

static void keep_failure(struct parts *p, size_t i, braid_status *st)
{
    bd_mutex_lock(&p->mu);
    if (i < p->failed) {
        p->failed = i;
        bd_status_move(p->st, st);
    }
    bd_mutex_unlock(&p->mu);
    atomic_store(&p->next, p->count); // the parts that were not begun
}

static void get_parts(void *arg, int64_t thread)
{
    (void)thread;
    struct parts *p = arg;
    BD_STATUS(st);
    for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) {
        p->crcs[i] = 0;
        if (get_range(p->shard, p->e, p->out, begin_of(p, i), begin_of(p, i + 1), &p->crcs[i], st))
            keep_failure(p, i, st);
    }
}

static void divide(struct parts *p)
{
    p->part = bd_max(PART_BYTES_MIN, (p->bytes / (PARTS_MAX - 2) / PART_BYTES_MIN + 1) * PART_BYTES_MIN);
    p->first = p->part - (uintptr_t)p->out % PART_BYTES_MIN;
    p->count = 1 + (p->bytes - p->first + p->part - 1) / p->part;
    BD_ASSERT(p->count <= PARTS_MAX);
}

static braid_code get_by_team(const bd_bundle_shard *shard, const bd_bundle_entry *e, char *out,
                              uint32_t *crc, braid_status *st)
{
    BD_STATUS(why);
    struct parts p = {
        .shard = shard, .e = e, .out = out, .bytes = (size_t)e->size, .failed = SIZE_MAX, .st = why};
    divide(&p);
    bd_mutex_init(&p.mu);
    shard->team->share(shard->team, bd_min(shard->team->threads, (int64_t)p.count), get_parts, &p);
    get_parts(&p, 0); // what an interrupted team has left out
    bd_mutex_fini(&p.mu);
    if (why->code) {
        bd_status_move(st, why);
        return st->code;
    }
    for (size_t i = 0; i < p.count; i++)
        *crc = bd_crc32c_join(*crc, p.crcs[i], begin_of(&p, i + 1) - begin_of(&p, i));
    return BRAID_OK;
}

braid_code bd_bundle_data_get(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e, void *out,
                              braid_status *st)
{
    uint32_t crc = 0;
    const size_t bytes = (size_t)e->size;
    const bool is_shared = shard->team && shard->team->threads > 1 && bytes >= 2 * PART_BYTES_MIN;
    braid_code code = check_size(shard, key, e, st);
    if (!code)
        code =
            is_shared ? get_by_team(shard, e, out, &crc, st) : get_range(shard, e, out, 0, bytes, &crc, st);
    if (!code) code = check_crc(shard, key, e, crc, st);
    if (!code && e->dtype == BRAID_BOOL) normalize_bools(out, bytes);
    return code;
}

// Sets the elements of `t` from the bytes of an entry.
static braid_code split_strings(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                                const uint8_t *bytes, braid_tensor *t, braid_status *st)
{
    int64_t count = bd_tensor_count(t);
    const uint8_t *lengths = bytes, *at = bytes, *end = bytes + e->size;
    uint32_t crc = 0;
    uint64_t length = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!bd_get_varint(&at, end, &length)) return lost(shard, key, e, "a length is malformed", st);
        crc = crc_of_length(crc, length);
    }
    if (end - at < 4 || bd_get_le32(at) != bd_crc32c_mask(crc)) {
        return lost(shard, key, e, "The length checksum does not match", st);
    }
    crc = bd_crc32c_extend(crc, at, (size_t)(end - at));
    at += 4;
    braid_code code = check_crc(shard, key, e, crc, st);
    for (int64_t i = 0; i < count && !code; i++) {
        bd_get_varint(&lengths, end, &length);
        if (length > (uint64_t)(end - at)) return lost(shard, key, e, "a string is longer than the file", st);
        if (!bd_tensor_string_try_set(t, i, (const char *)at, (size_t)length))
            return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a string of %" PRIu64 " bytes of %s",
                           length, shard->file->path);
        at += length;
    }
    return code;
}

static braid_code split_variants(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                                 const uint8_t *at, braid_tensor *t, braid_status *st)
{
    const uint8_t *end = at + e->size;
    uint32_t crc = 0;
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        uint64_t len = 0;
        uint8_t bytes[8];
        bd_variant *v;
        if (!bd_get_varint(&at, end, &len) || end - at < 4 || len > (uint64_t)(end - at) - 4)
            return lost(shard, key, e, "a variant is longer than the file", st);
        bd_put_le64(bytes, len);
        crc = bd_crc32c_extend(bd_crc32c_extend(crc, bytes, 8), at, (size_t)len);
        if (bd_get_le32(at + len) != bd_crc32c_mask(crc))
            return lost(shard, key, e, "The checksum after a variant does not match", st);
        crc = bd_crc32c_extend(crc, at + len, 4);
        bd_message m;
        bd_message_init(&m);
        bd_message_add_copy(&m, at, (size_t)len);
        braid_code code = bd_variant_proto_read(bd_wire_reader_of(&m), 0, &v, st);
        bd_message_fini(&m);
        if (code) return code;
        bd_tensor_variant_set(t, i, v);
        bd_variant_unref(v);
        at += len + 4;
    }
    return check_crc(shard, key, e, crc, st);
}

static braid_code read_objects(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                               braid_tensor *t, braid_status *st)
{
    if (e->size == 0) return BRAID_OK; // no elements, and no checksum of their lengths
    uint8_t *bytes = bd_try_malloc((size_t)e->size);
    if (!bytes) {
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %" PRId64 " bytes of %s", e->size,
                       shard->file->path);
    }
    braid_code code = bd_file_read_exact(shard->file, (uint64_t)e->offset, bytes, (size_t)e->size, st);
    if (!code)
        code = t->dtype == BRAID_STRING ? split_strings(shard, key, e, bytes, t, st)
                                        : split_variants(shard, key, e, bytes, t, st);
    bd_free(bytes);
    return code;
}

braid_code bd_bundle_data_read(const bd_bundle_shard *shard, bd_bytes key, const bd_bundle_entry *e,
                               braid_tensor *t, braid_status *st)
{
    *t = (braid_tensor){0};
    braid_code code = check_size(shard, key, e, st);
    if (!code) code = bd_tensor_init(t, e->dtype, &e->shape, st);
    if (code) return code;
    code = e->dtype == BRAID_STRING || e->dtype == BRAID_VARIANT
               ? read_objects(shard, key, e, t, st)
               : bd_bundle_data_get(shard, key, e, t->data, st);
    if (code) bd_tensor_fini(t);
    return code;
}
