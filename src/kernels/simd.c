// Chooses the variant of the numeric loops that this CPU runs best.
#include "kernels/simd.h"

#include <stdatomic.h>

#define DECLARE(suffix)                                                                                      \
    extern const bd_unary_fn bd_unary_table_##suffix[BD_UNARY_COUNT][BD_SIMD_NUMBER_COUNT];                  \
    extern const bd_binary_fn bd_binary_table_##suffix[BD_BINARY_COUNT][BD_SIMD_NUMBER_COUNT];               \
    extern const bd_reduce_fn bd_reduce_table_##suffix[BD_REDUCE_COUNT][BD_SIMD_NUMBER_COUNT];               \
    extern const bd_softmax_fns bd_softmax_table_##suffix[BD_F64 + 1];                                       \
    extern const bd_training_fns bd_training_table_##suffix[BD_F64 + 1];                                     \
    extern const bd_gemm_fn bd_gemm_table_##suffix[BD_I64 + 1];                                              \
    extern const bd_max_grad_fn bd_max_grad_table_##suffix[BD_F64 + 1];                                      \
    extern const bd_cast_fn bd_cast_table_##suffix[BD_CAST_COUNT][BD_CAST_COUNT];                            \
    extern const bd_channel_fns bd_channel_table_##suffix;                                                   \
    void bd_select_##suffix(const bool *condition, const void *t, const void *e, void *out, int64_t n,       \
                            size_t size)

#define VARIANT(suffix)                                                                                      \
    {                                                                                                        \
        .name = #suffix, .unary = bd_unary_table_##suffix, .binary = bd_binary_table_##suffix,               \
        .reduce = bd_reduce_table_##suffix, .select = bd_select_##suffix,                                    \
        .softmax = bd_softmax_table_##suffix, .training = bd_training_table_##suffix,                        \
        .gemm = bd_gemm_table_##suffix, .max_grad = bd_max_grad_table_##suffix,                              \
        .cast = bd_cast_table_##suffix, .channels = &bd_channel_table_##suffix                               \
    }

DECLARE(generic);
#ifdef __x86_64__
DECLARE(avx2);
DECLARE(avx512);
#endif

static const bd_kernel_table variants[] = {
    VARIANT(generic),
#ifdef __x86_64__
    VARIANT(avx2),
    VARIANT(avx512),
#endif
};

#define VARIANT_COUNT ((int)(sizeof variants / sizeof variants[0]))

static bool cpu_runs(int i)
{
#ifdef __x86_64__
    if (i == 1) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (i == 2)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return i == 0;
}

const bd_kernel_table *bd_kernel_variant(int i)
{
    return i >= 0 && i < VARIANT_COUNT && cpu_runs(i) ? &variants[i] : NULL;
}

const bd_kernel_table *bd_kernels(void)
{
    static _Atomic(const bd_kernel_table *) chosen;
    const bd_kernel_table *table = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (table) return table;
    for (int i = VARIANT_COUNT - 1; !table; i--)
        table = bd_kernel_variant(i);
    atomic_store_explicit(&chosen, table, memory_order_relaxed);
    return table;
}

bd_cast_fn bd_cast(bd_cast_type from, bd_cast_type to)
{
    return bd_kernels()->cast[from][to];
}
