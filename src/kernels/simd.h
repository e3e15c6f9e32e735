// The table of numeric loops for this machine's instruction set.
//
// Each file NAME_simd.c is compiled once per instruction set; a variant is a set of constant tables, and
// bd_kernels gives the best one that this CPU can run. All loops take plain pointers, row-major; a result may
// lie exactly over an operand of the same element size, and may not overlap one otherwise. They neither
// allocate nor fail.
#ifndef BD_KERNELS_SIMD_H
#define BD_KERNELS_SIMD_H

#include "kernels/batch_norm.h"
#include "kernels/cast.h"
#include "kernels/number.h"
#include <stdbool.h>
#include <stdint.h>

// ---- y[i] = f(x[i]) ----

typedef enum bd_unary_op {
    BD_NEG,
    BD_ABS,
    BD_SIGN, // 0 for nan
    BD_SQUARE,
    BD_SQRT,
    BD_RSQRT,
    BD_RECIPROCAL,
    BD_EXP,
    BD_EXPM1,
    BD_LOG,
    BD_LOG1P,
    BD_SIN,
    BD_COS,
    BD_TAN,
    BD_ASIN,
    BD_ACOS,
    BD_ATAN,
    BD_SINH,
    BD_COSH,
    BD_ASINH,
    BD_ACOSH,
    BD_ATANH,
    BD_ERF,
    BD_ERFC,
    BD_LGAMMA,
    BD_DIGAMMA,
    BD_TANH,
    BD_SIGMOID,
    BD_SOFTPLUS,
    BD_SOFTSIGN,
    BD_RELU,
    BD_RELU6,
    BD_ELU,
    BD_FLOOR,
    BD_CEIL,
    BD_ROUND,   // half to even
    BD_LOG_NOT, // bool
    BD_IS_NAN,  // from here on y is bool
    BD_IS_INF,
    BD_IS_FINITE,
    BD_UNARY_COUNT
} bd_unary_op;

static inline bool bd_unary_gives_bool(bd_unary_op op)
{
    return op >= BD_LOG_NOT;
}

typedef void (*bd_unary_fn)(const void *x, void *y, int64_t n);

// ---- z[i] = f(x[i], y[i]) ----

typedef enum bd_binary_op {
    BD_ADD,
    BD_SUB,
    BD_MUL,
    BD_DIV, // of integers: toward zero. For all integer divisions: y is not 0
    BD_FLOOR_DIV,
    BD_MOD,       // sign of x
    BD_FLOOR_MOD, // sign of y
    BD_MAX,
    BD_MIN,
    BD_POW, // of integers: y is not negative
    BD_SQUARED_DIFFERENCE,
    // Gradients: y is the gradient that arrives, x the function's value (of RELU, RELU6, SOFTPLUS and
    // SOFTSIGN: y and x swapped, as in the ops, and x is the argument)
    BD_TANH_GRAD,
    BD_SIGMOID_GRAD,
    BD_SQRT_GRAD,
    BD_RSQRT_GRAD,
    BD_RECIPROCAL_GRAD,
    BD_RELU_GRAD,
    BD_RELU6_GRAD,
    BD_ELU_GRAD,
    BD_SOFTPLUS_GRAD,
    BD_SOFTSIGN_GRAD,
    BD_EQUAL, // from here on z is bool
    BD_NOT_EQUAL,
    BD_LESS,
    BD_LESS_EQUAL,
    BD_GREATER,
    BD_GREATER_EQUAL,
    BD_LOG_AND,
    BD_LOG_OR,
    BD_BINARY_COUNT
} bd_binary_op;

static inline bool bd_binary_gives_bool(bd_binary_op op)
{
    return op >= BD_EQUAL;
}

// Gradients have operands of one shape.
static inline bool bd_binary_is_gradient(bd_binary_op op)
{
    return op >= BD_TANH_GRAD && op <= BD_SOFTSIGN_GRAD;
}

// Which operands are one element for all of z.
typedef enum bd_single {
    BD_SINGLE_NONE,
    BD_SINGLE_X,
    BD_SINGLE_Y
} bd_single;

typedef void (*bd_binary_fn)(const void *x, const void *y, void *z, int64_t n, bd_single single);

// ---- y[i,k] = f over j of x[i,j,k] ----

typedef enum bd_reduce_op {
    // of floating point: in blocks, so that the error grows with the logarithm of `count` or better
    BD_REDUCE_SUM,
    BD_REDUCE_SUM_SQUARES,
    BD_REDUCE_PROD,
    BD_REDUCE_MAX, // of an empty set: the least value
    BD_REDUCE_MIN,
    BD_REDUCE_ALL, // bool
    BD_REDUCE_ANY,
    BD_REDUCE_COUNT
} bd_reduce_op;

// x is [outer, count, inner], y is [outer, inner] and does not overlap x.
typedef void (*bd_reduce_fn)(const void *x, void *y, int64_t outer, int64_t count, int64_t inner);

// ---- Choice: out[i] = condition[i] ? t[i] : e[i], for elements of `size` bytes (1, 2, 4 or 8) ----

typedef void (*bd_select_fn)(const bool *condition, const void *t, const void *e, void *out, int64_t n,
                             size_t size);

// ---- Softmax and cross entropy of rows, for float and double ----

typedef struct bd_softmax_fns {
    // y = softmax(x), or its logarithm, of each row of x [rows, cols]; y may be x.
    void (*softmax)(const void *x, void *y, int64_t rows, int64_t cols);
    void (*log_softmax)(const void *x, void *y, int64_t rows, int64_t cols);
    // loss [rows] = -sum labels * log_softmax(x); backprop [rows, cols] = softmax(x) - labels, which may be
    // x.
    void (*cross_entropy)(const void *x, const void *labels, void *loss, void *backprop, int64_t rows,
                          int64_t cols);
    // The same with the number of the right column in place of a row of labels; each is in [0, cols).
    void (*sparse_cross_entropy)(const void *x, const int64_t *labels, void *loss, void *backprop,
                                 int64_t rows, int64_t cols);
} bd_softmax_fns;

// ---- Updates of variables in one pass over memory, for float and double. They take no lock
// (training_loops.h). ----

typedef struct bd_adam {
    double lr, beta1, beta2, epsilon, beta1_power, beta2_power;
    bool nesterov;
} bd_adam;
typedef struct bd_rmsprop {
    double lr, rho, momentum, epsilon;
} bd_rmsprop;
typedef struct bd_ftrl {
    double lr, l1, l2, l2_shrinkage, lr_power;
    bool linear_has_lr; // the stored linear slot is the paper's times lr, so that lr may be 0
} bd_ftrl;
typedef struct bd_adadelta {
    double lr, rho, epsilon;
} bd_adadelta;
typedef struct bd_proximal {
    double lr, l1, l2;
} bd_proximal;
typedef struct bd_adagrad_da {
    double lr, l1, l2, global_step;
} bd_adagrad_da;

typedef struct bd_sign_step {
    double lr, beta;
    double same, opposite, neither; // factors of the gradient, by the signs of gradient and mean
} bd_sign_step;

typedef struct bd_training_fns {
    void (*gradient_descent)(void *var, const void *delta, int64_t n, double alpha);
    void (*momentum)(void *var, void *accum, const void *grad, int64_t n, double lr, double momentum,
                     bool nesterov);
    void (*adagrad)(void *var, void *accum, const void *grad, int64_t n, double lr, double epsilon,
                    bool update_slots);
    void (*adam)(void *var, void *m, void *v, const void *grad, int64_t n, const bd_adam *o);
    void (*rmsprop)(void *var, void *ms, void *mom, const void *grad, int64_t n, const bd_rmsprop *o);
    void (*ftrl)(void *var, void *accum, void *linear, const void *grad, int64_t n, const bd_ftrl *o);
    void (*centered_rmsprop)(void *var, void *mg, void *ms, void *mom, const void *grad, int64_t n,
                             const bd_rmsprop *o);
    void (*adadelta)(void *var, void *accum, void *accum_update, const void *grad, int64_t n,
                     const bd_adadelta *o);
    void (*adagrad_da)(void *var, void *sum, void *square_sum, const void *grad, int64_t n,
                       const bd_adagrad_da *o);
    // accum NULL: gradient descent; else Adagrad.
    void (*proximal)(void *var, void *accum, const void *grad, int64_t n, const bd_proximal *o);
    void (*amsgrad)(void *var, void *m, void *v, void *vhat, const void *grad, int64_t n, const bd_adam *o);
    void (*adamax)(void *var, void *m, void *v, const void *grad, int64_t n,
                   const bd_adam *o); // of beta1_power, not beta2_power
    void (*keras_momentum)(void *var, void *accum, const void *grad, int64_t n, double lr, double momentum,
                           bool nesterov);
    void (*sign_step)(void *var, void *m, const void *grad, int64_t n, const bd_sign_step *o);
} bd_training_fns;

// ---- c [m, n] = scale a [m, k] b [k, n], either read transposed ----

typedef struct bd_gemm_operands {
    const void *a, *b;
    void *c; // does not overlap a or b
    int64_t m, n, k;
    int64_t a_row, a_column; // from one element of a to that of the next row (column), in elements
    int64_t b_row, b_column;
    int64_t c_row; // n or more
    double scale;
    bool adds; // to what c has
} bd_gemm_operands;

typedef void (*bd_gemm_fn)(const bd_gemm_operands *o);

// ---- The gradient of the greatest element of windows, channels last, for float and double ----

#define BD_MAX_GRAD_WINDOW 64 // elements of a window, at most

struct bd_pooling_shape;

// dx from x and dy of the images `from` to `to` - 1 of a batch: as BD_POOLING_MAX_GRAD, or with `positive` as
// BD_POOLING_MAX_RELU_GRAD (pooling.h). The tensors begin with image 0.
typedef void (*bd_max_grad_fn)(const struct bd_pooling_shape *s, const void *x, const void *dy, void *dx,
                               bool positive, int64_t from, int64_t to);

// ---- Statistics of channels: the functions of batch_norm.h ----

typedef struct bd_channel_fns {
    void (*sums)(const bd_channels *v, const float *x, double *sums);
    void (*squares)(const bd_channels *v, const float *x, const float *center, double *sums);
    void (*products)(const bd_channels *v, const float *x, const float *dy, const float *center,
                     double *sums);
    void (*normalize)(const bd_channels *v, const float *x, const float *center, const float *factor,
                      const float *offset, float *y);
    void (*normalize_grad)(const bd_channels *v, const float *x, const float *dy, const float *center,
                           const float *factor, const float *dy_mean, const float *slope, float *dx);
} bd_channel_fns;

// ---- The table ----

typedef struct bd_kernel_table {
    const char *name;                                   // "generic", "avx2", "avx512"
    const bd_unary_fn (*unary)[BD_SIMD_NUMBER_COUNT];   // [op][type]; NULL when the type is not supported
    const bd_binary_fn (*binary)[BD_SIMD_NUMBER_COUNT]; // [op][type]; the type of x and y
    const bd_reduce_fn (*reduce)[BD_SIMD_NUMBER_COUNT];
    bd_select_fn select;
    const bd_softmax_fns *softmax;           // [BD_F64 + 1]
    const bd_training_fns *training;         // [BD_F64 + 1]
    const bd_gemm_fn *gemm;                  // [BD_I64 + 1]
    const bd_max_grad_fn *max_grad;          // [BD_F64 + 1]
    const bd_cast_fn (*cast)[BD_CAST_COUNT]; // [from][to]
    const bd_channel_fns *channels;
} bd_kernel_table;

// The table in use: the best for this CPU. Any thread.
const bd_kernel_table *bd_kernels(void);

// For tests: variant `i` (0: generic), or NULL when it does not exist or this CPU does not support it.
const bd_kernel_table *bd_kernel_variant(int i);

#endif
