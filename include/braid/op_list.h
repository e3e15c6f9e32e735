// Documentation of the ops, as `braid ops` prints it.
#ifndef BRAID_OP_LIST_H
#define BRAID_OP_LIST_H

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns a page (Markdown) on each op: its function, inputs and outputs, the element types of its kernels,
/// whether it has a gradient, and its differences from TensorFlow. `name`: of one op, or with `*` for any
/// characters; NULL: all. The caller frees it with free(). NULL on an error: NotFound, with similar names,
/// when no op matches.
BRAID_API char *braid_op_doc(const char *name, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
