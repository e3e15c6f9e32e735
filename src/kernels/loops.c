// Finds the loop of an op for a type.
#include "kernels/loops.h"

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
