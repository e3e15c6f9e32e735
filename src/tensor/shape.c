// Shapes: comparing, merging, counting, printing and reading.
#include "tensor/shape.h"

#include <stdio.h>
#include <string.h>

static bool rank_is_valid(int rank)
{
    return rank >= 0 && rank <= BRAID_RANK_MAX;
}

bool bd_shape_can_be(const braid_shape *s)
{
    bool can_be = s->rank >= -1 && s->rank <= BRAID_RANK_MAX;
    for (int i = 0; can_be && i < s->rank; i++)
        can_be = s->dims[i] >= -1;
    return can_be;
}

bool bd_shape_is_known(const braid_shape *s)
{
    if (!rank_is_valid(s->rank)) return false;
    for (int i = 0; i < s->rank; i++)
        if (s->dims[i] < 0) return false;
    return true;
}

bool bd_shape_equal(const braid_shape *a, const braid_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

int64_t bd_shape_count(const braid_shape *s)
{
    return bd_shape_count_range(s, 0, s->rank);
}

int64_t bd_shape_count_range(const braid_shape *s, int from, int to)
{
    int64_t count = 1;
    for (int i = from; i < to; i++)
        count *= s->dims[i];
    return count;
}

// Computes the count of a known shape. Returns false when the product overflows, also that of the other
// dimensions beside a zero, so that strides cannot overflow.
static bool count_fits(const braid_shape *s, int64_t *count)
{
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, s->dims[i], &product))
            return false;
    }
    *count = empty ? 0 : product;
    return true;
}

braid_code bd_shape_checked_count(const braid_shape *s, int64_t *count, braid_status *st)
{
    char text[BD_SHAPE_STR_MAX];
    if (s->rank > BRAID_RANK_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a shape has %d dimensions; at most %d are supported",
                       s->rank, BRAID_RANK_MAX);
    if (!bd_shape_is_known(s))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "shape %s is not fully known", bd_shape_str(s, text));
    if (!count_fits(s, count))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "shape %s has too many elements", bd_shape_str(s, text));
    return BRAID_OK;
}

static bool broadcast_dim(int64_t a, int64_t b, int64_t *out)
{
    if (a == 1)
        *out = b;
    else if (b == 1 || a == b || b < 0)
        *out = a;
    else if (a < 0)
        *out = b;
    else
        return false;
    return true;
}

bool bd_shape_broadcast(const braid_shape *a, const braid_shape *b, braid_shape *out)
{
    if (a->rank < 0 || b->rank < 0) {
        *out = BD_SHAPE_UNKNOWN;
        return true;
    }
    braid_shape made = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= made.rank; i++) { // from the last dimension
        int64_t da = i <= a->rank ? a->dims[a->rank - i] : 1;
        int64_t db = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (!broadcast_dim(da, db, &made.dims[made.rank - i])) return false;
    }
    *out = made;
    return true;
}

int bd_shape_broadcast_axes(const braid_shape *own, const braid_shape *other, int32_t axes[BRAID_RANK_MAX])
{
    if (bd_shape_equal(own, other)) return 0;
    const int rank = own->rank > other->rank ? own->rank : other->rank;
    int count = 0;
    for (int d = 0; d < rank; d++) {
        const int i = d - (rank - own->rank);
        if (i < 0 || own->dims[i] == 1) axes[count++] = d;
    }
    return count;
}

bool bd_shape_merge(const braid_shape *a, const braid_shape *b, braid_shape *out)
{
    if (a->rank < 0 || b->rank < 0) {
        *out = a->rank < 0 ? *b : *a;
        return true;
    }
    if (a->rank != b->rank) return false;
    braid_shape made = {.rank = a->rank};
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i]) return false;
        made.dims[i] = a->dims[i] < 0 ? b->dims[i] : a->dims[i];
    }
    *out = made;
    return true;
}

// ---- Text ----

const char *bd_shape_str(const braid_shape *s, char buf[BD_SHAPE_STR_MAX])
{
    if (!rank_is_valid(s->rank)) {
        memcpy(buf, "?", 2);
        return buf;
    }
    size_t at = 0;
    buf[at++] = '[';
    for (int i = 0; i < s->rank; i++) {
        if (i) buf[at++] = ',';
        if (s->dims[i] < 0)
            buf[at++] = '?';
        else // at most 19 digits, so that twelve fit
            at += (size_t)snprintf(buf + at, BD_SHAPE_STR_MAX - at, "%lld", (long long)s->dims[i]);
    }
    buf[at++] = ']';
    buf[at] = '\0';
    return buf;
}

void bd_shape_print(const braid_shape *s, bd_strbuf *out)
{
    char text[BD_SHAPE_STR_MAX];
    bd_strbuf_append(out, bd_shape_str(s, text));
}

// Parses a dimension: "?" or a number. Returns the text after it; NULL when it is malformed.
static const char *parse_dim(const char *text, int64_t *dim)
{
    if (*text == '?') {
        *dim = -1;
        return text + 1;
    }
    if (*text < '0' || *text > '9') return NULL;
    int64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
            return NULL;
    *dim = value;
    return text;
}

bool bd_shape_parse(const char *text, braid_shape *out)
{
    braid_shape made = {.rank = 0};
    if (strcmp(text, "?") == 0) {
        *out = BD_SHAPE_UNKNOWN;
        return true;
    }
    if (*text++ != '[') return false;
    if (strcmp(text, "]") != 0) {
        do {
            if (made.rank == BRAID_RANK_MAX) return false;
            text = parse_dim(text, &made.dims[made.rank++]);
        } while (text && *text == ',' && text++);
        if (!text || strcmp(text, "]") != 0) return false;
    }
    *out = made;
    return true;
}

// ---- Public ----

braid_shape braid_shape_make(int rank, const int64_t *dims)
{
    if (!rank_is_valid(rank)) return BD_SHAPE_UNKNOWN;
    braid_shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++)
        shape.dims[i] = dims[i] < 0 ? -1 : dims[i];
    return shape;
}

int64_t braid_shape_num_elements(braid_shape shape)
{
    int64_t count;
    return bd_shape_is_known(&shape) && count_fits(&shape, &count) ? count : -1;
}

bool braid_shape_equal(braid_shape a, braid_shape b)
{
    return bd_shape_equal(&a, &b);
}

char *braid_shape_text(braid_shape shape)
{
    bd_strbuf text = {0};
    bd_shape_print(&shape, &text);
    return bd_strbuf_take(&text);
}
