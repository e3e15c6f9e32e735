// Shared by SparseSegmentX ops (sparse_segment.c) and their gradients (sparse_segment_grad.c): rows of input
// 0 selected by the indices in input 1, and segment ids in input 2.
#ifndef BD_OPS_SPARSE_SPARSE_SEGMENT_H
#define BD_OPS_SPARSE_SPARSE_SEGMENT_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

// The divisor of the sum of n rows: 1, n or the square root of n.
typedef enum bd_segment_scaling {
    BD_SCALE_NONE,
    BD_SCALE_MEAN,
    BD_SCALE_ROOT
} bd_segment_scaling;

double bd_segment_divisor(bd_segment_scaling how, int64_t n);

// to[i] += from[i] / divisor. Integers are not divided, and wrap around.
typedef void (*bd_segment_add_fn)(void *to, const void *from, int64_t n, double divisor);
bd_segment_add_fn bd_segment_add_of(braid_dtype dtype);

// Checks the shapes of the inputs. False: the kernel has failed.
bool bd_sparse_segment_check(bd_op_ctx *c);
// Element `i` of input `input`, if it is in [0, limit); -1: the kernel has failed.
int64_t bd_sparse_segment_place(bd_op_ctx *c, int input, const char *what, int64_t i, int64_t limit);
void bd_sparse_segment_fail_id(bd_op_ctx *c, int64_t id, int64_t segments);
// Makes output 0 zeros: `rows` rows like those of the data, of *len elements. NULL: the kernel has failed.
braid_tensor *bd_sparse_segment_rows(bd_op_ctx *c, int64_t rows, int64_t *len);

// Shape function of ops whose optional input 3 is the number of output rows.
braid_code bd_shape_fn_sparse_segment(bd_shape_ctx *c, braid_status *st);

#define BD_SPARSE_SEGMENT_INDEX_TYPES "; Tidx:type{int32,int64}=int32; +Tsegmentids:type{int32,int64}=int32"
#define BD_SPARSE_SEGMENT_FLOATS "T:type{bfloat16,double,float,half}"
#define BD_SPARSE_SEGMENT_FLOAT_KERNELS(RUN)                                                                 \
    BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_WIDENS, .run = (RUN)})

#endif
