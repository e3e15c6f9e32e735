// Finds the loop of an op for a type, and runs it block by block.
#include "kernels/loops.h"

#include "base/interrupt.h"

static int64_t block_at(int64_t at, int64_t n)
{
    return n - at < BD_INTERRUPT_BLOCK ? n - at : BD_INTERRUPT_BLOCK;
}

void bd_unary_blocks(bd_unary_fn fn, const void *x, size_t x_size, void *y, size_t y_size, int64_t n)
{
    for (int64_t at = 0; at < n && !bd_interrupted(); at += BD_INTERRUPT_BLOCK)
        fn((const char *)x + at * (int64_t)x_size, (char *)y + at * (int64_t)y_size, block_at(at, n));
}

void bd_binary_blocks(bd_binary_fn fn, const void *x, const void *y, size_t x_size, void *z, size_t z_size,
                      int64_t n, bd_single single)
{
    const int64_t x_step = single == BD_SINGLE_X ? 0 : (int64_t)x_size,
                  y_step = single == BD_SINGLE_Y ? 0 : (int64_t)x_size;
    for (int64_t at = 0; at < n && !bd_interrupted(); at += BD_INTERRUPT_BLOCK)
        fn((const char *)x + at * x_step, (const char *)y + at * y_step, (char *)z + at * (int64_t)z_size,
           block_at(at, n), single);
}

void bd_select_blocks(const bool *condition, const void *x, const void *y, void *z, int64_t n, size_t size)
{
    for (int64_t at = 0; at < n && !bd_interrupted(); at += BD_INTERRUPT_BLOCK) {
        const size_t offset = (size_t)at * size;
        bd_kernels()->select(condition + at, (const char *)x + offset, (const char *)y + offset,
                             (char *)z + offset, block_at(at, n), size);
    }
}

bd_unary_fn bd_unary_loop(bd_unary_op op, bd_number type)
{
    return type < BD_SIMD_NUMBER_COUNT ? bd_kernels()->unary[op][type] : bd_complex_unary[op][type - BD_C64];
}

bd_binary_fn bd_binary_loop(bd_binary_op op, bd_number type)
{
    return type < BD_SIMD_NUMBER_COUNT ? bd_kernels()->binary[op][type]
                                       : bd_complex_binary[op][type - BD_C64];
}

bd_reduce_fn bd_reduce_loop(bd_reduce_op op, bd_number type)
{
    return type < BD_SIMD_NUMBER_COUNT ? bd_kernels()->reduce[op][type]
                                       : bd_complex_reduce[op][type - BD_C64];
}
