// Names of files, and of tensors in them, among the inputs of a kernel.
#ifndef BD_OPS_COMMON_FILE_ARG_H
#define BD_OPS_COMMON_FILE_ARG_H

#include "op/kernel.h"

// String element `i` of input `input` as text of C: the caller's (bd_free).
// NULL when it holds a zero byte; the execution has failed then.
char *bd_input_text(bd_op_ctx *c, int input, int64_t i);

// Fails unless input `input` has this rank: "Input prefix should be a scalar tensor, got [2] instead."
bool bd_input_check_rank(bd_op_ctx *c, int input, int rank);

#endif
