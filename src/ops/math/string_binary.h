// Element-wise functions of two tensors of strings, with broadcasting: what arithmetic and comparison ops run
// for strings.
#ifndef BD_OPS_MATH_STRING_BINARY_H
#define BD_OPS_MATH_STRING_BINARY_H

#include "op/kernel.h"

void bd_strings_add_run(bd_op_ctx *c); // y's bytes behind x's
void bd_strings_equal_run(bd_op_ctx *c);
void bd_strings_not_equal_run(bd_op_ctx *c);

#endif
