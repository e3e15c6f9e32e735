// Shared by the files NAME_simd.c: names of variants, and loops with independent iterations.
#ifndef BD_KERNELS_SIMD_LOOP_H
#define BD_KERNELS_SIMD_LOOP_H

#define BD_CAT_(a, b) a##b
#define BD_CAT(a, b) BD_CAT_(a, b)
// The name of this variant: bd_unary_table_avx2.
#define BD_SIMD_NAME(name) BD_CAT(name, BD_SIMD_SUFFIX)

// Before a loop whose iterations are independent: the compiler vectorizes it without checking pointers for
// overlap (a result over its operand must not fall back to the scalar loop).
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" // a loop with calls stays scalar: no mistake
#define BD_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define BD_VECTORIZE _Pragma("GCC ivdep")
#endif

#endif
