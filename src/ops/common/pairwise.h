// Runs element-wise functions with loops of their own, chosen by the type of the operands.
#ifndef BD_OPS_COMMON_PAIRWISE_H
#define BD_OPS_COMMON_PAIRWISE_H

#include "kernels/pair_loop.h"
#include "op/kernel.h"

// A loop for each type, by its number; NULL for a type that the op's kernels do not serve.
typedef bd_binary_fn bd_pair_table[BRAID_UINT64 + 1];
typedef bd_unary_fn bd_single_table[BRAID_UINT64 + 1];

// Output 0, of type `out`, is table[type](input 0, input 1), broadcast.
void bd_pairwise_run(bd_op_ctx *c, const bd_pair_table table, braid_dtype out);
// The same of inputs `x` and `y`; the op checked the shapes or relies on them to be broadcast.
void bd_pairwise_run_of(bd_op_ctx *c, bd_binary_fn fn, int x, int y, braid_dtype out);
// Output 0, of type `out`, is table[type](input 0).
void bd_singly_run(bd_op_ctx *c, const bd_single_table table, braid_dtype out);

// Defines NAME_run, the kernel of an op of two floating-point operands.
#define BD_FLOAT_PAIR(NAME, EXPR)                                                                            \
    BD_PAIR_LOOP(NAME##_f32, float, float, EXPR)                                                             \
    BD_PAIR_LOOP(NAME##_f64, double, double, EXPR)                                                           \
    static void NAME##_run(bd_op_ctx *c)                                                                     \
    {                                                                                                        \
        static const bd_pair_table table = {[BRAID_FLOAT] = NAME##_f32, [BRAID_DOUBLE] = NAME##_f64};        \
        bd_pairwise_run(c, table, bd_input(c, 0)->dtype);                                                    \
    }

// The same of operands that may be complex.
#define BD_FIELD_PAIR(NAME, EXPR)                                                                            \
    BD_PAIR_LOOP(NAME##_f32, float, float, EXPR)                                                             \
    BD_PAIR_LOOP(NAME##_f64, double, double, EXPR)                                                           \
    BD_PAIR_LOOP(NAME##_c64, float _Complex, float _Complex, EXPR)                                           \
    BD_PAIR_LOOP(NAME##_c128, double _Complex, double _Complex, EXPR)                                        \
    static void NAME##_run(bd_op_ctx *c)                                                                     \
    {                                                                                                        \
        static const bd_pair_table table = {[BRAID_FLOAT] = NAME##_f32,                                      \
                                            [BRAID_DOUBLE] = NAME##_f64,                                     \
                                            [BRAID_COMPLEX64] = NAME##_c64,                                  \
                                            [BRAID_COMPLEX128] = NAME##_c128};                               \
        bd_pairwise_run(c, table, bd_input(c, 0)->dtype);                                                    \
    }

#endif
