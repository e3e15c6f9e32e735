// Walks two operands of different shapes in the order of their result, the innermost dimension in one loop.
#include "kernels/broadcast.h"

#include "base/interrupt.h"
#include "kernels/loops.h"

// The size of the dimension `from_end` places before the end; 1 beyond the first.
static int64_t dim_at(const int64_t *dims, int rank, int from_end)
{
    return from_end < rank ? dims[rank - 1 - from_end] : 1;
}

// Puts a dimension of `size` elements, with these strides, before those of `b`; joins it with the first where
// it can.
static void put_dimension(bd_broadcast *b, int64_t size, int64_t x_stride, int64_t y_stride)
{
    if (size == 1) return;
    int last = b->rank - 1; // dimensions are collected from the end, and turned round afterwards
    if (last >= 0 && x_stride == b->x_strides[last] * b->dims[last] &&
        y_stride == b->y_strides[last] * b->dims[last]) {
        b->dims[last] *= size;
        return;
    }
    b->dims[b->rank] = size;
    b->x_strides[b->rank] = x_stride;
    b->y_strides[b->rank] = y_stride;
    b->rank++;
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
}

bool bd_broadcast_init(bd_broadcast *b, const int64_t *x_dims, int x_rank, const int64_t *y_dims, int y_rank)
{
    int64_t x_stride = 1, y_stride = 1;
    b->rank = 0;
    for (int i = 0; i < x_rank || i < y_rank; i++) {
        int64_t x = dim_at(x_dims, x_rank, i), y = dim_at(y_dims, y_rank, i);
        if (x != y && x != 1 && y != 1) return false;
        put_dimension(b, x == 1 ? y : x, x == 1 ? 0 : x_stride, y == 1 ? 0 : y_stride);
        x_stride *= x;
        y_stride *= y;
    }
    if (b->rank == 0) {
        b->dims[0] = 1;
        b->x_strides[0] = b->y_strides[0] = 1;
        b->rank = 1;
    }
    for (int i = 0, k = b->rank - 1; i < k; i++, k--) {
        swap(&b->dims[i], &b->dims[k]);
        swap(&b->x_strides[i], &b->x_strides[k]);
        swap(&b->y_strides[i], &b->y_strides[k]);
    }
    return true;
}

void bd_broadcast_run(const bd_broadcast *b, bd_binary_fn fn, const void *x, const void *y, size_t x_size,
                      void *z, size_t z_size)
{
    int inner = b->rank - 1;
    int64_t n = b->dims[inner], at[BD_BROADCAST_RANK_MAX] = {0};
    bd_single single = b->x_strides[inner] == 0   ? BD_SINGLE_X
                       : b->y_strides[inner] == 0 ? BD_SINGLE_Y
                                                  : BD_SINGLE_NONE;
    const char *x_at = x, *y_at = y;
    char *z_at = z;
    for (int i = 0; i < b->rank; i++) {
        if (b->dims[i] == 0) return;
    }
    while (!bd_interrupted()) {
        bd_binary_blocks(fn, x_at, y_at, x_size, z_at, z_size, n, single);
        z_at += n * (int64_t)z_size;
        int d = inner - 1; // on to the next row: count up the dimensions before the innermost
        for (; d >= 0; d--) {
            x_at += b->x_strides[d] * (int64_t)x_size;
            y_at += b->y_strides[d] * (int64_t)x_size;
            if (++at[d] < b->dims[d]) break;
            x_at -= b->x_strides[d] * b->dims[d] * (int64_t)x_size;
            y_at -= b->y_strides[d] * b->dims[d] * (int64_t)x_size;
            at[d] = 0;
        }
        if (d < 0) return;
    }
}
