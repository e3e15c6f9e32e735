// The walk over two strided memories, and the copy of plain elements along it.
#include "kernels/strided.h"

#include "base/interrupt.h"
#include <stdbool.h>
#include <string.h>

// The elements of a block of a dense run, of which a copy takes some 10 ms. It is large because memcpy is
// faster for large memory.
#define DENSE_BLOCK (1 << 24)

// Drops dimensions of one element and joins adjacent ones that are contiguous in both memories. Returns false
// when there is no element.
static bool simplify(const bd_strided *in, bd_strided *out)
{
    out->rank = 0;
    for (int i = 0; i < in->rank; i++) {
        if (in->dims[i] == 0) return false;
        if (in->dims[i] == 1) continue;
        int last = out->rank - 1;
        if (last >= 0 && out->to_strides[last] == in->to_strides[i] * in->dims[i] &&
            out->from_strides[last] == in->from_strides[i] * in->dims[i]) {
            out->dims[last] *= in->dims[i];
        } else {
            last = out->rank++;
            out->dims[last] = in->dims[i];
        }
        out->to_strides[last] = in->to_strides[i];
        out->from_strides[last] = in->from_strides[i];
    }
    if (out->rank == 0) {
        out->rank = 1;
        out->dims[0] = out->to_strides[0] = out->from_strides[0] = 1;
    }
    return true;
}

// Visits the innermost run at these positions, a long one.
__attribute__((noinline)) static void run_blocks(const bd_strided *b, bd_strided_run_fn run, void *arg,
                                                 int64_t to_at, int64_t from_at)
{
    int inner = b->rank - 1;
    int64_t to = b->to_strides[inner], from = b->from_strides[inner];
    int64_t block = to == 1 && from == 1 ? DENSE_BLOCK : BD_INTERRUPT_BLOCK;
    for (int64_t i = 0; i < b->dims[inner] && !(i > 0 && bd_interrupted()); i += block)
        run(arg, to_at + i * to, to, from_at + i * from, from,
            b->dims[inner] - i < block ? b->dims[inner] - i : block);
}

void bd_strided_walk(const bd_strided *block, bd_strided_run_fn run, void *arg)
{
    bd_strided b;
    if (!simplify(block, &b)) return;
    int inner = b.rank - 1;
    const int64_t n = b.dims[inner], to = b.to_strides[inner], from = b.from_strides[inner];
    int64_t index[BD_STRIDED_RANK_MAX] = {0}, to_at = 0, from_at = 0;
    while (!bd_interrupted()) {
        if (n > BD_INTERRUPT_BLOCK)
            run_blocks(&b, run, arg, to_at, from_at);
        else
            run(arg, to_at, to, from_at, from, n);
        int d = inner - 1;
        for (; d >= 0; d--) {
            to_at += b.to_strides[d];
            from_at += b.from_strides[d];
            if (++index[d] < b.dims[d]) break;
            to_at -= b.to_strides[d] * b.dims[d];
            from_at -= b.from_strides[d] * b.dims[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

typedef struct plain_copy {
    char *to;
    const char *from;
    size_t size;
} plain_copy;

#define COPY_RUN(TYPE)                                                                                       \
    do {                                                                                                     \
        TYPE *to = (TYPE *)(void *)c->to + to_at;                                                            \
        const TYPE *from = (const TYPE *)(const void *)c->from + from_at;                                    \
        for (int64_t i = 0; i < n; i++)                                                                      \
            to[i * to_stride] = from[i * from_stride];                                                       \
    } while (0)

static void copy_run(void *arg, int64_t to_at, int64_t to_stride, int64_t from_at, int64_t from_stride,
                     int64_t n)
{
    const plain_copy *c = arg;
    int64_t size = (int64_t)c->size;
    if (to_stride == 1 && from_stride == 1) {
        memcpy(c->to + to_at * size, c->from + from_at * size, (size_t)n * c->size);
        return;
    }
    switch (c->size) {
    case 1: COPY_RUN(uint8_t); return;
    case 2: COPY_RUN(uint16_t); return;
    case 4: COPY_RUN(uint32_t); return;
    case 8: COPY_RUN(uint64_t); return;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(c->to + (to_at + i * to_stride) * size, c->from + (from_at + i * from_stride) * size,
                   c->size);
    }
}

// Side of the square tiles in which a transposing copy goes: two of them of 4-byte elements fit the first
// cache.
#define TILE 32

// When one memory is dense along the last dimension and the other along another one, a plain walk touches a
// new cache line for each element: these two dimensions are then cut into tiles. Returns false for other
// blocks.
static bool copy_tiled(plain_copy *c, const bd_strided *b)
{
    int inner = b->rank - 1, other = -1;
    if (b->rank < 2 || b->to_strides[inner] != 1) return false;
    for (int d = 0; d < inner; d++) {
        if (b->from_strides[d] == 1 && b->from_strides[inner] != 1) other = d;
    }
    if (other < 0 || b->dims[inner] < TILE || b->dims[other] < TILE) return false;
    for (int64_t i = 0; i < b->dims[other]; i += TILE) {
        for (int64_t j = 0; j < b->dims[inner] && !bd_interrupted(); j += TILE) {
            bd_strided tile = *b;
            tile.dims[other] = b->dims[other] - i < TILE ? b->dims[other] - i : TILE;
            tile.dims[inner] = b->dims[inner] - j < TILE ? b->dims[inner] - j : TILE;
            int64_t to_at = i * b->to_strides[other] + j * b->to_strides[inner];
            int64_t from_at = i * b->from_strides[other] + j * b->from_strides[inner];
            plain_copy part = {.to = c->to + to_at * (int64_t)c->size,
                               .from = c->from + from_at * (int64_t)c->size,
                               .size = c->size};
            bd_strided_walk(&tile, copy_run, &part);
        }
    }
    return true;
}

void bd_strided_copy(void *to, const void *from, size_t size, const bd_strided *block)
{
    plain_copy c = {.to = to, .from = from, .size = size};
    bd_strided b;
    if (!simplify(block, &b)) return;
    if (!copy_tiled(&c, &b)) bd_strided_walk(&b, copy_run, &c);
}
