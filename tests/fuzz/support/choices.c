// Choices: bytes of the input as long as there are any, then numbers that follow from them.
#include "support/choices.h"

#include "base/check.h"
#include <float.h>
#include <math.h>
#include <string.h>

uint64_t choose_below(choices *p, uint64_t n)
{
    uint64_t number = 0;
    if (p->len == 0) return bd_rng_below(&p->rng, n);
    for (uint64_t span = 1; span < n && p->len > 0; span *= 256) {
        number = number << 8 | *p->data++;
        p->len--;
    }
    return number % n;
}

bool choose_one_in(choices *p, uint64_t n)
{
    return choose_below(p, n) == 0;
}

braid_dtype choose_type(choices *p, bd_dtype_set set)
{
    const uint64_t count = (uint64_t)__builtin_popcount(set);
    if (count == 0) return BRAID_FLOAT;
    for (uint64_t k = choose_below(p, count); k > 0; k--)
        set &= set - 1;
    return (braid_dtype)__builtin_ctz(set);
}

int64_t choose_hostile_int(choices *p)
{
    static const int64_t ints[] = {
        INT64_MIN, INT64_MAX, INT32_MIN,        INT32_MAX, (int64_t)1 << 62, (int64_t)1 << 32, UINT32_MAX, -2,
        1 << 16,   1 << 28,   (int64_t)1 << 40, 46341,     INT64_MIN + 1,    INT64_MAX - 1};
    return ints[choose_below(p, BD_COUNTOF(ints))];
}

int64_t choose_int(choices *p)
{
    if (choose_one_in(p, 12)) return choose_hostile_int(p);
    return choose_one_in(p, 6) ? -1 - (int64_t)choose_below(p, 2) : (int64_t)choose_below(p, 5);
}

double choose_number(choices *p)
{
    static const double numbers[] = {NAN,  INFINITY, -INFINITY, DBL_MAX, -DBL_MAX,
                                     1e30, -1e10,    DBL_MIN,   0x1p63,  -0x1p31};
    if (choose_one_in(p, 8)) return numbers[choose_below(p, BD_COUNTOF(numbers))];
    return ((double)choose_below(p, 64) - 16) / 8;
}

bd_bytes choose_bytes(choices *p)
{
    static const char *const words[] = {"",
                                        "a",
                                        "1",
                                        "-2.5e3",
                                        "/f",
                                        "ab,cd,e",
                                        "nan",
                                        "9223372036854775808",
                                        "\xc3\xa9",
                                        "%d",
                                        "f",
                                        "[a-z]+(",
                                        "(.*)",
                                        "UTF-8",
                                        "NHWC",
                                        "/job:a/task:0",
                                        "a\xff b",
                                        "GZIP",
                                        "{\"a\":1",
                                        "i,ij->j",
                                        "\n\x01",
                                        "YWJj",
                                        "\x08\x01\x12\x02\x08\x02"};
    if (choose_one_in(p, 6)) { // bytes of the input
        const size_t len = p->len < 24 ? p->len : (size_t)choose_below(p, 24);
        char *copy = bd_arena_alloc(&p->arena, len + 1);
        if (len > 0) memcpy(copy, p->data, len);
        copy[len] = '\0';
        return (bd_bytes){copy, len};
    }
    const char *word = words[choose_below(p, BD_COUNTOF(words))];
    return (bd_bytes){word, strlen(word)};
}

braid_shape choose_shape(choices *p)
{
    braid_shape s = p->last_shape;
    const uint64_t how = choose_below(p, 8);
    if (how < 3) return s;
    if (how == 4) return BRAID_SCALAR;
    if (how == 5)
        return BRAID_SHAPE(s.rank > 0 && choose_one_in(p, 2) ? s.dims[0] : (int64_t)choose_below(p, 5));
    if (how == 3 && s.rank > 0) {
        s.dims[choose_below(p, (uint64_t)s.rank)] = (int64_t)choose_below(p, 5);
    } else {
        s.rank = (int)choose_below(p, 16);
        if (s.rank > 5) s.rank = s.rank % 3 + (s.rank > 12 ? 3 : 0);
        for (int i = 0; i < s.rank; i++)
            s.dims[i] = choose_one_in(p, 8) ? 0 : 1 + (int64_t)choose_below(p, 4);
    }
    p->last_shape = s;
    return s;
}

static void fill(choices *p, braid_tensor *t)
{
    const int64_t count = bd_tensor_count(t);
    for (int64_t i = 0; i < count; i++) {
        switch (t->dtype) {
        case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)choose_number(p); break;
        case BRAID_DOUBLE: bd_tensor_f64(t)[i] = choose_number(p); break;
        case BRAID_INT32:
        case BRAID_QINT32:
        case BRAID_UINT32: ((uint32_t *)t->data)[i] = (uint32_t)choose_int(p); break;
        case BRAID_INT64:
        case BRAID_UINT64: bd_tensor_i64(t)[i] = choose_int(p); break;
        case BRAID_BOOL: bd_tensor_bool(t)[i] = choose_below(p, 2); break;
        case BRAID_STRING: {
            const bd_bytes b = choose_bytes(p);
            bd_tensor_string_set(t, i, b.data, b.len);
            break;
        }
        default: {
            const size_t size = braid_dtype_size(t->dtype);
            for (size_t k = 0; k < size; k++)
                ((uint8_t *)t->data)[(size_t)i * size + k] = (uint8_t)choose_below(p, 256);
        }
        }
    }
}

braid_tensor *choose_tensor(choices *p, braid_dtype type)
{
    braid_tensor *t = braid_tensor_new(type, choose_shape(p), NULL);
    BD_ASSERT(t);
    fill(p, t);
    return t;
}
