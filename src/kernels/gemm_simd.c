// Matrix products of the types that the BLAS does not have, and of float where there is none.
//
// B is packed in panels of NR columns; MR rows of A at a time run along a panel with MR x NR sums in
// registers (Goto and van de Geijn 2008, without the outer two levels: these types are not where the time
// goes).
#include "base/interrupt.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16 // bytes of a register
#endif
#define MR 4   // with two vectors a row, 8 sums hide the latency of a multiplication
#define KC 256 // of the inner dimension at a time: a panel stays in the first cache

// Sums of integers wrap around, so T is unsigned for them.

#define T float
#define NAME(x) x##_f32
#include "kernels/gemm_loops.h"

#define T double
#define NAME(x) x##_f64
#include "kernels/gemm_loops.h"

#define T uint32_t
#define NAME(x) x##_i32
#include "kernels/gemm_loops.h"

#define T uint64_t
#define NAME(x) x##_i64
#include "kernels/gemm_loops.h"

const bd_gemm_fn BD_SIMD_NAME(bd_gemm_table)[BD_I64 + 1] = {gemm_f32, gemm_f64, gemm_i32, gemm_i64};
