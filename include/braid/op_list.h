// The ops that Braid has, for people: what `braid ops` prints.
#ifndef BRAID_OP_LIST_H
#define BRAID_OP_LIST_H

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns a page (Markdown) on each op: what it does, inputs and outputs, the element types that its kernels
/// serve, whether it has a gradient, and where it differs from TensorFlow's. `name`: of one op, or with `*`
/// for any characters; NULL: all. Caller frees with free(). NULL on an error: NotFound when no op has such a
/// name, with the names that are like it.
BRAID_API char *braid_op_doc(const char *name, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
