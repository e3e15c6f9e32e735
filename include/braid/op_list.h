// The ops that Braid has: their documentation, as `braid ops` prints it, and their definitions.
#ifndef BRAID_OP_LIST_H
#define BRAID_OP_LIST_H

#include <braid/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns a page (Markdown) on each op: its function, inputs and outputs, the element types of its kernels,
/// whether it has a gradient, and its differences from TensorFlow. `name`: of one op, or with `*` for any
/// characters; NULL: all. The caller frees it with free(). NULL on an error: NotFound, with similar names,
/// when no op matches.
BRAID_API char *braid_op_doc(const char *name, braid_status *status);

/// Returns the definition of an op as a serialized OpDef (free() it) and its length: arguments; attributes
/// with default, minimum and allowed values; flags. Its summary says what the op does, its description how it
/// differs from TensorFlow's. Of a function of a graph: braid_function_def (function.h). NULL on an error:
/// NotFound. Any thread.
BRAID_API void *braid_op_def(const char *name, size_t *len, braid_status *status);
/// Returns the definitions of all ops as a serialized OpList (free() it), sorted by name. Those whose names
/// begin with '_' are for the runtime: no program makes them.
BRAID_API void *braid_op_def_list(size_t *len, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
