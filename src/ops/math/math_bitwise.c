// Operations on the bits of integers.
#include "graph/shape_fn.h"
#include "ops/common/pairwise.h"

#include <limits.h>

// LOOP(NAME_suffix, type, unsigned type) for each integer type.
#define EACH_INTEGER(LOOP, NAME)                                                                             \
    LOOP(NAME##_i8, int8_t, uint8_t)                                                                         \
    LOOP(NAME##_i16, int16_t, uint16_t)                                                                      \
    LOOP(NAME##_i32, int32_t, uint32_t)                                                                      \
    LOOP(NAME##_i64, int64_t, uint64_t)                                                                      \
    LOOP(NAME##_u8, uint8_t, uint8_t)                                                                        \
    LOOP(NAME##_u16, uint16_t, uint16_t)                                                                     \
    LOOP(NAME##_u32, uint32_t, uint32_t)                                                                     \
    LOOP(NAME##_u64, uint64_t, uint64_t)
#define TABLE(NAME)                                                                                          \
    {                                                                                                        \
        [BRAID_INT8] = NAME##_i8, [BRAID_INT16] = NAME##_i16, [BRAID_INT32] = NAME##_i32,                    \
        [BRAID_INT64] = NAME##_i64, [BRAID_UINT8] = NAME##_u8, [BRAID_UINT16] = NAME##_u16,                  \
        [BRAID_UINT32] = NAME##_u32, [BRAID_UINT64] = NAME##_u64                                             \
    }

#define AND(NAME, T, U) BD_PAIR_LOOP(NAME, T, T, x &y)
#define OR(NAME, T, U) BD_PAIR_LOOP(NAME, T, T, x | y)
#define XOR(NAME, T, U) BD_PAIR_LOOP(NAME, T, T, x ^ y)
// Shift counts are limited to the range from 0 to the type's bits - 1. Left shifts are computed without sign.
#define PLACES(T) (y < 1 ? 0 : y > (T)(CHAR_BIT * sizeof(T) - 1) ? (T)(CHAR_BIT * sizeof(T) - 1) : y)
#define LEFT(NAME, T, U) BD_PAIR_LOOP(NAME, T, T, (U)((U)x << PLACES(T)))
#define RIGHT(NAME, T, U) BD_PAIR_LOOP(NAME, T, T, x >> PLACES(T))
EACH_INTEGER(AND, and)
EACH_INTEGER(OR, or)
EACH_INTEGER(XOR, xor)
EACH_INTEGER(LEFT, left)
EACH_INTEGER(RIGHT, right)

#define NOT(NAME, T, U) BD_SINGLE_LOOP(NAME, T, T, ~x)
#define COUNT(NAME, T, U) BD_SINGLE_LOOP(NAME, T, uint8_t, __builtin_popcountll((U)x))
EACH_INTEGER(NOT, invert)
EACH_INTEGER(COUNT, count)

#define RUN(NAME)                                                                                            \
    static void NAME##_run(bd_op_ctx *c)                                                                     \
    {                                                                                                        \
        static const bd_pair_table table = TABLE(NAME);                                                      \
        bd_pairwise_run(c, table, bd_input(c, 0)->dtype);                                                    \
    }
RUN(and)
RUN(or)
RUN(xor)
RUN(left)
RUN(right)

static void invert_run(bd_op_ctx *c)
{
    static const bd_single_table table = TABLE(invert);
    bd_singly_run(c, table, bd_input(c, 0)->dtype);
}

static void population_run(bd_op_ctx *c)
{
    static const bd_single_table table = TABLE(count);
    bd_singly_run(c, table, BRAID_UINT8);
}

#define BIT_TYPES "T:type{int16,int32,int64,int8,uint16,uint32,uint64,uint8}"

BD_OP(BitwiseAnd) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = BIT_TYPES,
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_KERNELS({.run = and_run}),
    .doc = "Bitwise and of x and y.",
};

BD_OP(BitwiseOr) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = BIT_TYPES,
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_KERNELS({.run = or_run}),
    .doc = "Bitwise or of x and y.",
};

BD_OP(BitwiseXor) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = BIT_TYPES,
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_KERNELS({.run = xor_run}),
    .doc = "Bitwise exclusive or of x and y.",
};

BD_OP(LeftShift) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = BIT_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_KERNELS({.run = left_run}),
    .doc = "Shifts x left by y bits; y is limited to the range from 0 to the type's bits - 1.",
};

BD_OP(RightShift) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = BIT_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_KERNELS({.run = right_run}),
    .doc =
        "Shifts x right by y bits, arithmetically for signed types; y is limited to the range from 0 to the type's bits - 1.",
};

BD_OP(Invert) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = BIT_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = invert_run}),
    .doc = "Bitwise complement of x.",
};

BD_OP(PopulationCount) = {
    .signature = "(x: T) -> (y: uint8)",
    .attrs = BIT_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = population_run}),
    .doc = "The number of set bits in each element.",
};
