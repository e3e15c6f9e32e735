// Functions that datasets call: with values captured when the dataset was made, and without a step.
#ifndef BD_OPS_DATASET_FUNCTION_H
#define BD_OPS_DATASET_FUNCTION_H

#include "op/function.h"
#include "ops/dataset/dataset.h"

// A function and its captured arguments, which follow the arguments of each call. All-zero is no function.
typedef struct bd_captured {
    bd_function_runtime *functions; // a reference
    const bd_callee *callee;
    braid_tensor *values; // [value_count], owned
    int value_count;
} bd_captured;

// Finds the function and captures inputs [first, first + count) of the node. False: the kernel has failed.
bool bd_captured_init(bd_captured *f, bd_op_ctx *c, const bd_func_ref *ref, int first, int count);
void bd_captured_fini(bd_captured *f);

// Processes the results of a call in an iterator; moves them out of `rets` (empty with an error). `arg` is
// the argument of the call.
typedef bd_turn (*bd_results_fn)(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count,
                                 braid_status *st);

// Calls the function with `args` (taken over: "no tensor" is left), then the captured values. `then` gets the
// results, on this thread or another, in a turn of the iterator. The call is cancelled with the token of the
// iterator's chain.
bd_turn bd_iterator_call(bd_iterator *it, const bd_captured *f, braid_tensor *args, int arg_count,
                         bd_results_fn then, void *arg);

// The results as the iterator's answer, which must have the components of its dataset; or the error.
bd_turn bd_give_results(bd_iterator *it, braid_tensor *rets, int ret_count, braid_status *st);
// Returns the only result as a scalar: a bool, a number or a dataset (borrowed from `rets`). Otherwise
// InvalidArgument with `what`.
braid_code bd_result_bool(const braid_tensor *rets, int ret_count, const char *what, bool *value,
                          braid_status *st);
braid_code bd_result_int(const braid_tensor *rets, int ret_count, const char *what, int64_t *value,
                         braid_status *st);
braid_code bd_result_dataset(const braid_tensor *rets, int ret_count, bd_dataset **value, braid_status *st);

// A new dataset over that of input 0 (`has_input`) with the components in the node's attrs. NULL: the kernel
// has failed.
bd_dataset *bd_dataset_of_attrs(bd_op_ctx *c, const bd_dataset_kind *kind, bool has_input);

// ---- The state of a kernel that names one function ----

#define BD_DEFINE_FUNC_STATE(NAME, ATTR)                                                                     \
    static braid_code NAME##_create(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        return bd_func_ref_read(node, ATTR, -1, state, st);                                                  \
    }
void bd_func_state_destroy(void *state);

#define BD_FUNC_KERNEL(NAME, RUN)                                                                            \
    BD_KERNELS({.state_size = sizeof(bd_func_ref),                                                           \
                .create = NAME##_create,                                                                     \
                .destroy = bd_func_state_destroy,                                                            \
                .run = (RUN)})

#endif
