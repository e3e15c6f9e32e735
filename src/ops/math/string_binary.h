// Element-wise functions of two string tensors, with broadcasting: the kernels of Add, Equal and NotEqual for
// strings.
#ifndef BD_OPS_MATH_STRING_BINARY_H
#define BD_OPS_MATH_STRING_BINARY_H

#include "op/kernel.h"

void bd_strings_add_run(bd_op_ctx *c); // concatenation of x and y
void bd_strings_equal_run(bd_op_ctx *c);
void bd_strings_not_equal_run(bd_op_ctx *c);

#endif
