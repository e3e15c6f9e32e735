// Reads slices of tensors from other slices in which they were written.
#include "base/alloc.h"
#include "base/check.h"
#include "io/bundle_reader.h"
#include "io/slice_copy.h"
#include <string.h>

// A request to read a slice.
struct request {
    bd_bundle *b;
    const char *name;
    const bd_bundle_entry *whole; // of the tensor
    bd_tensor_slice wanted;       // resolved
    braid_tensor *t;
};

static braid_code fail_slices(const struct request *r, braid_code code, const char *why, braid_status *st)
{
    bd_strbuf text = {0};
    bd_tensor_slice_print(&r->wanted, &text);
    bd_fail(st, code, "%s for partitioned tensor %s to restore in slice_spec: %s", why, r->name,
            bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
    return code;
}

// ---- Which stored slices are needed ----

struct piece {
    const bd_tensor_slice *stored; // as the key has it
    bd_tensor_slice resolved, common;
};

// The stored slices that meet the wanted one, in an array (bd_free). They must cover it without overlap.
static braid_code find_pieces(const struct request *r, struct piece **pieces, size_t *count, braid_status *st)
{
    const bd_bundle_entry *whole = r->whole;
    int64_t covered = 0;
    struct piece *found = bd_malloc(whole->slice_count * sizeof *found);
    *pieces = found;
    *count = 0;
    for (size_t i = 0; i < whole->slice_count; i++) {
        struct piece p = {.stored = &whole->slices[i]};
        braid_code code = bd_tensor_slice_resolve(p.stored, &whole->shape, &p.resolved, st);
        if (code) return code;
        if (!bd_tensor_slice_intersect(&p.resolved, &r->wanted, &p.common)) continue;
        for (size_t k = 0; k < *count; k++) {
            bd_tensor_slice twice;
            if (bd_tensor_slice_intersect(&p.common, &found[k].common, &twice)) {
                return fail_slices(r, BRAID_DATA_LOSS, "Overlapping slices", st);
            }
        }
        covered += bd_tensor_slice_count(&p.common);
        found[(*count)++] = p;
    }
    if (covered == bd_tensor_slice_count(&r->wanted)) return BRAID_OK;
    return fail_slices(r, BRAID_INVALID_ARGUMENT, "Does not have sufficient slices", st);
}

// ---- Reading them ----

// The key and the entry of a stored slice, checked against the whole tensor's.
static braid_code find_stored(const struct request *r, const struct piece *p, bd_strbuf *key,
                              bd_bundle_entry *e, braid_status *st)
{
    bd_tensor_slice_key(r->name, strlen(r->name), p->stored, key);
    bd_bytes bytes = {(const uint8_t *)key->data, key->len};
    braid_code code = bd_bundle_find_entry(r->b, bytes, e, st);
    if (code) return code;
    braid_shape shape = bd_tensor_slice_shape(&p->resolved);
    if (e->slice_count == 0 && e->dtype == r->whole->dtype && bd_shape_equal(&e->shape, &shape))
        return BRAID_OK;
    return fail_slices(r, BRAID_DATA_LOSS, "A slice has another type or shape than it should have", st);
}

// Reads elements that the tensor holds in one run straight to their place.
static braid_code read_in_place(const struct request *r, bd_bytes key, const bd_bundle_entry *e,
                                int64_t first, braid_status *st)
{
    const bd_bundle_shard *shard;
    braid_code code = bd_bundle_get_shard(r->b, key, e, &shard, st);
    if (code) return code;
    char *to = (char *)r->t->data + (size_t)first * braid_dtype_size(e->dtype);
    return bd_bundle_data_get(shard, key, e, to, st);
}

static braid_code read_and_copy(const struct request *r, const struct piece *p, bd_bytes key,
                                const bd_bundle_entry *e, braid_status *st)
{
    braid_tensor stored;
    braid_code code = bd_bundle_read_entry(r->b, key, e, &stored, st);
    if (code) return code;
    bd_slice_copy(&p->common, &stored, &p->resolved, r->t, &r->wanted);
    bd_tensor_fini(&stored);
    return BRAID_OK;
}

static braid_code read_stored(const struct request *r, const struct piece *p, bd_bytes key,
                              const bd_bundle_entry *e, braid_status *st)
{
    int64_t first;
    bool all_of_it = bd_tensor_slice_equal(&p->common, &p->resolved);
    if (e->dtype != BRAID_STRING && all_of_it && bd_tensor_slice_is_run(&r->wanted, &p->common, &first)) {
        return read_in_place(r, key, e, first, st);
    }
    return read_and_copy(r, p, key, e, st);
}

static braid_code read_piece(const struct request *r, const struct piece *p, braid_status *st)
{
    bd_strbuf key = {0};
    bd_bundle_entry e = {0};
    braid_code code = find_stored(r, p, &key, &e, st);
    if (!code) code = read_stored(r, p, (bd_bytes){(const uint8_t *)key.data, key.len}, &e, st);
    bd_bundle_entry_fini(&e);
    bd_strbuf_fini(&key);
    return code;
}

static braid_code read_pieces(const struct request *r, const struct piece *pieces, size_t count,
                              braid_status *st)
{
    braid_shape shape = bd_tensor_slice_shape(&r->wanted);
    braid_code code = bd_tensor_init(r->t, r->whole->dtype, &shape, st);
    for (size_t i = 0; i < count && !code; i++)
        code = read_piece(r, &pieces[i], st);
    if (code) bd_tensor_fini(r->t);
    return code;
}

static braid_code read_partitioned(const struct request *r, braid_status *st)
{
    struct piece *pieces;
    size_t count;
    braid_code code = find_pieces(r, &pieces, &count, st);
    if (!code && (!bd_bundle_type_ok(r->whole->dtype) || r->whole->dtype == BRAID_VARIANT)) {
        code = fail_slices(r, BRAID_UNIMPLEMENTED, "Type that cannot be read in slices", st);
    }
    if (!code) code = read_pieces(r, pieces, count, st);
    bd_free(pieces);
    return code;
}

// A slice of a tensor that was written in one piece.
static braid_code read_of_whole(const struct request *r, braid_status *st)
{
    bd_bytes key = bd_bundle_name_key(r->name);
    bd_tensor_slice all = bd_tensor_slice_all(r->whole->shape.rank);
    braid_shape shape = bd_tensor_slice_shape(&r->wanted);
    if (bd_shape_equal(&shape, &r->whole->shape)) return bd_bundle_read_entry(r->b, key, r->whole, r->t, st);
    if (r->whole->dtype == BRAID_VARIANT)
        return fail_slices(r, BRAID_UNIMPLEMENTED, "Type that cannot be read in slices", st);
    struct piece p = {.stored = &all, .common = r->wanted};
    braid_code code = bd_tensor_slice_resolve(&all, &r->whole->shape, &p.resolved, st);
    if (!code) code = bd_tensor_init(r->t, r->whole->dtype, &shape, st);
    if (code) return code;
    code = read_and_copy(r, &p, key, r->whole, st);
    if (code) bd_tensor_fini(r->t);
    return code;
}

braid_code bd_bundle_read_slice(bd_bundle *b, const char *name, const bd_tensor_slice *slice, braid_tensor *t,
                                braid_status *st)
{
    bd_bundle_entry whole;
    struct request r = {.b = b, .name = name, .whole = &whole, .t = t};
    *t = (braid_tensor){0};
    braid_code code = bd_bundle_find_entry(b, bd_bundle_name_key(name), &whole, st);
    if (code) return code;
    code = bd_tensor_slice_resolve(slice, &whole.shape, &r.wanted, st);
    if (code) bd_status_prefix(st, "tensor %s: ", name);
    if (!code) code = whole.slice_count > 0 ? read_partitioned(&r, st) : read_of_whole(&r, st);
    bd_bundle_entry_fini(&whole);
    return code;
}
