// Compiles the optimizers' updates (training_loops.h) for float and double.
#include "base/hogwild.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <math.h>

#define T float
#define NAME(x) x##_f32
#define SQRT sqrtf
#define POW powf
#define ABS fabsf
#include "kernels/training_loops.h"

#define T double
#define NAME(x) x##_f64
#define SQRT sqrt
#define POW pow
#define ABS fabs
#include "kernels/training_loops.h"

const bd_training_fns BD_SIMD_NAME(bd_training_table)[BD_F64 + 1] = {
    {gradient_descent_f32, momentum_f32, adagrad_f32, adam_f32, rmsprop_f32, ftrl_f32, centered_rmsprop_f32,
     adadelta_f32, adagrad_da_f32, proximal_f32, amsgrad_f32, adamax_f32, keras_momentum_f32, sign_step_f32},
    {gradient_descent_f64, momentum_f64, adagrad_f64, adam_f64, rmsprop_f64, ftrl_f64, centered_rmsprop_f64,
     adadelta_f64, adagrad_da_f64, proximal_f64, amsgrad_f64, adamax_f64, keras_momentum_f64, sign_step_f64},
};
