// Functions of the program that nodes of a graph call: ops PyFunc and PyFuncStateless (tf.py_func).
//
//     static braid_code twice(void *arg, const braid_callback_call *call, braid_status *status)
//     {
//         ... a tensor made of call->inputs[0] ...
//         call->outputs[0] = made;
//         return BRAID_OK;
//     }
//     braid_callback_register("twice", twice, NULL, NULL, status);
//     braid_op_desc *d = braid_op_begin(graph, "PyFunc", NULL);
//     braid_op_input_list(d, &x, 1);
//     braid_op_attr_string(d, "token", "twice");
//     braid_op_attr_type_list(d, "Tout", (braid_dtype[]){BRAID_FLOAT}, 1);
//
// A node finds its function in the process that runs it: that of a session without a target, or of a server
// of the program. Elsewhere the node fails with InvalidArgument. Whoever may run graphs on a server can call
// the functions of its process.
#ifndef BRAID_CALLBACK_H
#define BRAID_CALLBACK_H

#include <braid/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One call. Its arrays are those of the node.
typedef struct braid_callback_call {
    const char *token;
    const braid_tensor *const *inputs; ///< [input_count] borrowed; they may be kept by braid_tensor_copy
    int input_count;
    /// [output_count] NULL before. The function stores tensors, which become those of the node.
    braid_tensor **outputs;
    const braid_dtype *output_dtypes; ///< [output_count] attr Tout: the types that the tensors must have
    int output_count;
} braid_callback_call;

/// Computes the outputs of a node on a thread that runs nodes, several calls at a time. Returns the code of
/// an error, with the message in `status`; that is then the error of the node.
typedef braid_code (*braid_callback_fn)(void *arg, const braid_callback_call *call, braid_status *status);

/// Registers a function of this process under `token` (copied). `release(arg)` (may be NULL) is called when
/// it is unregistered and no call of it is in progress any more, on the thread of the last of these. Any
/// thread. AlreadyExists, with nothing changed: the token is taken.
BRAID_API braid_code braid_callback_register(const char *token, braid_callback_fn fn, void *arg,
                                             void (*release)(void *arg), braid_status *status);
/// No call begins any more. An unknown token is ignored. Any thread.
BRAID_API void braid_callback_unregister(const char *token);

#ifdef __cplusplus
}
#endif
#endif
