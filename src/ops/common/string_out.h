// Allocates elements of string outputs, whose length a client or a file determines.
#ifndef BD_OPS_COMMON_STRING_OUT_H
#define BD_OPS_COMMON_STRING_OUT_H

#include "op/kernel.h"

// Makes element `i` of a string output `len` bytes long; the kernel fills them, the tensor owns them. NULL
// when memory is short (the kernel has failed: return); otherwise not NULL, also for length 0.
char *bd_string_room(bd_op_ctx *c, const braid_tensor *y, int64_t i, size_t len);

// Makes element `i` a copy. False: the kernel has failed.
bool bd_string_put(bd_op_ctx *c, const braid_tensor *y, int64_t i, const void *data, size_t len);

// Makes element `i` the TensorProto of `t`, which holds no variants. False: the kernel has failed.
bool bd_string_put_tensor(bd_op_ctx *c, const braid_tensor *y, int64_t i, const braid_tensor *t);

#endif
