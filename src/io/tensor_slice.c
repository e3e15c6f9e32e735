// Slices of tensors: text, keys, and moving elements between them.
#include "io/tensor_slice.h"

#include "base/check.h"
#include "io/ordered_code.h"
#include <inttypes.h>
#include <string.h>

bd_tensor_slice bd_tensor_slice_all(int rank)
{
    bd_tensor_slice s = {.rank = rank};
    for (int d = 0; d < rank; d++)
        s.length[d] = BD_EXTENT_ALL;
    return s;
}

bool bd_tensor_slice_is_all(const bd_tensor_slice *s)
{
    for (int d = 0; d < s->rank; d++)
        if (s->length[d] != BD_EXTENT_ALL) return false;
    return true;
}

bool bd_tensor_slice_equal(const bd_tensor_slice *a, const bd_tensor_slice *b)
{
    if (a->rank != b->rank) return false;
    for (int d = 0; d < a->rank; d++)
        if (a->start[d] != b->start[d] || a->length[d] != b->length[d]) return false;
    return true;
}

// ---- Text ----

static bool parse_number(const char *text, size_t len, int64_t *out)
{
    char copy[24];
    if (len == 0 || len >= sizeof copy) return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    return bd_parse_int64(copy, out);
}

// "-" or "START,LENGTH".
static bool parse_extent(const char *text, size_t len, int64_t *start, int64_t *length)
{
    *start = 0;
    *length = BD_EXTENT_ALL;
    if (len == 1 && *text == '-') return true;
    const char *comma = memchr(text, ',', len);
    if (!comma) return false;
    size_t first = (size_t)(comma - text);
    return parse_number(text, first, start) && parse_number(comma + 1, len - first - 1, length) &&
           *start >= 0 && *length > 0;
}

braid_code bd_tensor_slice_parse(const char *text, size_t len, bd_tensor_slice *s, braid_status *st)
{
    const char *at = text, *end = text + len;
    *s = (bd_tensor_slice){0};
    while (at < end) {
        const char *colon = memchr(at, ':', (size_t)(end - at)), *stop = colon ? colon : end;
        if (s->rank == BRAID_RANK_MAX) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "slice '%.*s' has more than %d dimensions", (int)len,
                           text, BRAID_RANK_MAX);
        }
        if (!parse_extent(at, (size_t)(stop - at), &s->start[s->rank], &s->length[s->rank])) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Expected a pair of numbers (non-negative start, positive length) or '-' but got "
                           "'%.*s' in slice '%.*s'",
                           (int)(stop - at), at, (int)len, text);
        }
        s->rank++;
        at = colon ? colon + 1 : end;
    }
    return BRAID_OK;
}

void bd_tensor_slice_print(const bd_tensor_slice *s, bd_strbuf *out)
{
    for (int d = 0; d < s->rank; d++) {
        if (d > 0) bd_strbuf_append_char(out, ':');
        if (s->length[d] == BD_EXTENT_ALL) {
            bd_strbuf_append_char(out, '-');
        } else {
            bd_strbuf_appendf(out, "%" PRId64 ",%" PRId64, s->start[d], s->length[d]);
        }
    }
}

// The dimensions before the last blank; `*rest` begins after it.
static braid_code parse_dims(const char *text, size_t len, braid_shape *full, const char **rest,
                             braid_status *st)
{
    const char *at = text, *end = text + len, *blank;
    *full = (braid_shape){.rank = 0};
    while ((blank = memchr(at, ' ', (size_t)(end - at)))) {
        int64_t dim;
        if (full->rank == BRAID_RANK_MAX || !parse_number(at, (size_t)(blank - at), &dim) || dim < 0) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "no shape of at most %d dimensions in shape_and_slice '%.*s'", BRAID_RANK_MAX,
                           (int)len, text);
        }
        full->dims[full->rank++] = dim;
        at = blank + 1;
    }
    *rest = at;
    if (full->rank > 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Need at least two elements in shape_and_slice '%.*s'",
                   (int)len, text);
}

braid_code bd_shape_and_slice_parse(const char *text, size_t len, braid_shape *full, bd_tensor_slice *s,
                                    braid_shape *shape, braid_status *st)
{
    const char *rest;
    bd_tensor_slice resolved;
    len = len < 4096 ? len : 4096; // longer texts are invalid, and the truncated text is an error
    braid_code code = parse_dims(text, len, full, &rest, st);
    if (!code) code = bd_tensor_slice_parse(rest, (size_t)(text + len - rest), s, st);
    if (!code) code = bd_tensor_slice_resolve(s, full, &resolved, st);
    if (!code) *shape = bd_tensor_slice_shape(&resolved);
    return code;
}

// ---- Extents ----

braid_code bd_tensor_slice_resolve(const bd_tensor_slice *s, const braid_shape *full,
                                   bd_tensor_slice *resolved, braid_status *st)
{
    bool fits = s->rank == full->rank;
    *resolved = (bd_tensor_slice){.rank = s->rank};
    for (int d = 0; fits && d < s->rank; d++) {
        bool all = s->length[d] == BD_EXTENT_ALL;
        resolved->start[d] = s->start[d];
        resolved->length[d] = all ? full->dims[d] : s->length[d];
        fits = all ? s->start[d] == 0
                   : s->start[d] >= 0 && s->length[d] > 0 && s->length[d] <= full->dims[d] &&
                         s->start[d] <= full->dims[d] - s->length[d];
    }
    if (fits) return BRAID_OK;
    bd_strbuf text = {0};
    bd_tensor_slice_print(s, &text);
    bd_fail(st, BRAID_INVALID_ARGUMENT, "slice '%s' is not in a tensor of shape %s", bd_strbuf_str(&text),
            bd_shape_str(full, (char[BD_SHAPE_STR_MAX]){0}));
    bd_strbuf_fini(&text);
    return BRAID_INVALID_ARGUMENT;
}

braid_shape bd_tensor_slice_shape(const bd_tensor_slice *s)
{
    braid_shape shape = {.rank = s->rank};
    for (int d = 0; d < s->rank; d++)
        shape.dims[d] = s->length[d];
    return shape;
}

int64_t bd_tensor_slice_count(const bd_tensor_slice *s)
{
    int64_t count = 1;
    for (int d = 0; d < s->rank; d++)
        count *= s->length[d];
    return count;
}

bool bd_tensor_slice_intersect(const bd_tensor_slice *a, const bd_tensor_slice *b, bd_tensor_slice *out)
{
    BD_ASSERT(a->rank == b->rank);
    *out = (bd_tensor_slice){.rank = a->rank};
    for (int d = 0; d < a->rank; d++) {
        int64_t start = bd_max(a->start[d], b->start[d]);
        int64_t end = bd_min(a->start[d] + a->length[d], b->start[d] + b->length[d]);
        if (end <= start) return false;
        out->start[d] = start;
        out->length[d] = end - start;
    }
    return true;
}

// Where the first element of `part` is in a tensor of `whole`.
static int64_t offset_in(const bd_tensor_slice *whole, const bd_tensor_slice *part)
{
    int64_t offset = 0;
    for (int d = 0; d < whole->rank; d++)
        offset = offset * whole->length[d] + part->start[d] - whole->start[d];
    return offset;
}

// The number of trailing dimensions that `part` takes from `whole` in
// one run: all of the last ones, and a part of the one before them.
static int run_dims(const bd_tensor_slice *whole, const bd_tensor_slice *part)
{
    int d = whole->rank;
    while (d > 0 && part->length[d - 1] == whole->length[d - 1])
        d--;
    return d > 0 ? whole->rank - d + 1 : whole->rank;
}

bool bd_tensor_slice_is_run(const bd_tensor_slice *whole, const bd_tensor_slice *part, int64_t *first)
{
    int outer = whole->rank - run_dims(whole, part);
    for (int d = 0; d < outer; d++)
        if (part->length[d] != 1) return false;
    *first = offset_in(whole, part);
    return true;
}

void bd_tensor_slice_copy(const bd_tensor_slice *common, const void *from, const bd_tensor_slice *from_slice,
                          void *to, const bd_tensor_slice *to_slice, size_t size)
{
    int from_run = run_dims(from_slice, common), to_run = run_dims(to_slice, common);
    int outer = common->rank - (from_run < to_run ? from_run : to_run);
    size_t run = size;
    for (int d = outer; d < common->rank; d++)
        run *= (size_t)common->length[d];
    bd_tensor_slice at = *common; // a run: its start in the outer dimensions counts
    for (int d = 0; d < outer; d++)
        at.length[d] = 1;
    for (;;) {
        memcpy((char *)to + (size_t)offset_in(to_slice, &at) * size,
               (const char *)from + (size_t)offset_in(from_slice, &at) * size, run);
        int d = outer - 1;
        while (d >= 0 && ++at.start[d] == common->start[d] + common->length[d]) {
            at.start[d] = common->start[d];
            d--;
        }
        if (d < 0) return;
    }
}

// ---- Keys ----

void bd_tensor_slice_key(const char *name, size_t name_len, const bd_tensor_slice *s, bd_strbuf *out)
{
    bd_ordered_put_number(out, 0); // no name of a tensor begins with a zero byte
    bd_ordered_put_string(out, name, name_len);
    bd_ordered_put_number(out, (uint64_t)s->rank);
    for (int d = 0; d < s->rank; d++) {
        bd_ordered_put_signed(out, s->start[d]);
        bd_ordered_put_signed(out, s->length[d]);
    }
}

bool bd_tensor_slice_key_parse(const void *key, size_t len, bd_strbuf *name, bd_tensor_slice *s)
{
    const uint8_t *at = key, *end = at + len;
    uint64_t zero, rank;
    if (!bd_ordered_get_number(&at, end, &zero) || zero != 0 || !bd_ordered_get_string(&at, end, name) ||
        !bd_ordered_get_number(&at, end, &rank) || rank == 0 || rank > BRAID_RANK_MAX) {
        return false;
    }
    *s = (bd_tensor_slice){.rank = (int)rank};
    for (int d = 0; d < s->rank; d++) {
        if (!bd_ordered_get_signed(&at, end, &s->start[d]) ||
            !bd_ordered_get_signed(&at, end, &s->length[d])) {
            return false;
        }
    }
    return at == end;
}
