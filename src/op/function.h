// Function calls, as kernels see them. The runtime implements them (runtime/function_runtime.h).
//
// A step has an environment of functions (bd_step.functions): the library of the graph and the caller's
// device. A kernel names a function by a bd_func_ref, made once from an attr; finds the callee, which is
// compiled at its first use; and calls it. A call holds no thread: it ends with a callback.
//
// A caller that outlives its step (the iterator of a data set) keeps a reference to the environment and calls
// without a step. Values that a function captures are passed as arguments.
#ifndef BD_OP_FUNCTION_H
#define BD_OP_FUNCTION_H

#include "graph/graph.h"
#include "op/step.h"

// The limit of nested calls: unbounded recursion ends in an error before it takes all memory.
#define BD_CALL_DEPTH_MAX 1000

// ---- Which function ----

// A function with values for its attrs, as a key. Zero-initialized is no function.
typedef struct bd_func_ref {
    bd_bytes key;     // NameAttrList in one form; in `memory`
    const char *name; // the same
    char *memory;     // owned
} bd_func_ref;

// Reads attr `attr` of type func, or item `index` of a list(func) (-1: not a list); or the function of a node
// whose op is a function. InvalidArgument for a malformed attr. The caller frees the ref (bd_func_ref_fini).
braid_code bd_func_ref_read(const braid_op *node, const char *attr, int index, bd_func_ref *out,
                            braid_status *st);
void bd_func_ref_of_node(const braid_op *node, bd_func_ref *out);
void bd_func_ref_fini(bd_func_ref *f);

// ---- Finding ----

typedef enum bd_callee_kind {
    BD_CALLEE_LOCAL = 0, // all nodes run on the device of the environment, whatever device they request
    BD_CALLEE_PLACED,    // nodes run on the devices of this task that they ask for
    BD_CALLEE_GRADIENT,  // the gradient of the function, as BD_CALLEE_LOCAL
} bd_callee_kind;

// An instance of a function, compiled. Valid as long as the environment it was found in; never changes.
typedef struct bd_callee {
    const braid_dtype *arg_types, *ret_types;
    int arg_count, ret_count;
    const char *state; // bd_function_state
} bd_callee;

typedef struct bd_function_runtime bd_function_runtime;

// Called exactly once, on any thread, with no lock held; perhaps before bd_function_call returns. `rets`
// [ret_count] are borrowed for the call (take them with bd_tensor_move); no tensors on an error. The error
// names the node of the body that failed, not the caller.
typedef void (*bd_function_done_fn)(void *arg, braid_tensor *rets, int ret_count, const braid_status *st);

typedef struct bd_invocation {
    const braid_tensor *args; // borrowed until bd_function_call returns
    int arg_count;
    // Of the caller, valid until the call has ended: the function's step shares its id, container, rendezvous
    // and statistics, and is cancelled with it. NULL: a step of its own, which counts against the account of
    // the calling thread (base/account.h); that account outlives the call.
    bd_step *step;
    bd_cancellation *cancellation; // without `step`: cancels the call; NULL: the call cannot be cancelled
    bd_function_done_fn done;
    void *arg;
} bd_invocation;

// The interface of an environment.
typedef struct bd_function_runtime_ops {
    braid_code (*find)(bd_function_runtime *fs, const bd_func_ref *f, bd_callee_kind kind, const char *device,
                       const bd_callee **out, braid_status *st);
    void (*call)(bd_function_runtime *fs, const bd_callee *f, const bd_invocation *call);
    void (*call_on)(bd_function_runtime *fs, const bd_func_ref *f, const char *device,
                    const bd_invocation *call);
    void (*destroy)(bd_function_runtime *fs);
} bd_function_runtime_ops;

// An environment as a device sees it, counted with its other views.
struct bd_function_runtime {
    const bd_function_runtime_ops *ops;
    atomic_int *refs;
    const char *device;          // full name of the device the caller is on
    bd_resources *resources;     // of the same; not owned
    struct bd_thread_pool *pool; // of the same; not owned; NULL: none
    bd_io_pool *io_pool;         // of the same; not owned; NULL: none
};

static inline bd_function_runtime *bd_function_runtime_ref(bd_function_runtime *fs)
{
    atomic_fetch_add_explicit(fs->refs, 1, memory_order_relaxed);
    return fs;
}
static inline void bd_function_runtime_unref(bd_function_runtime *fs)
{
    if (fs && atomic_fetch_sub_explicit(fs->refs, 1, memory_order_acq_rel) == 1) fs->ops->destroy(fs);
}

// Finds the callee for `f`; the first call compiles it, on this thread. `fs` may be NULL (a step without
// functions): NotFound "Function NAME is not defined.", as for a function that the library does not have.
// Other errors are those of bd_function_instantiate and of compiling. Any thread.
braid_code bd_function_find(bd_function_runtime *fs, const bd_func_ref *f, bd_callee_kind kind,
                            const bd_callee **out, braid_status *st);
// The same on another device of this task; InvalidArgument for another name.
braid_code bd_function_find_on(bd_function_runtime *fs, const bd_func_ref *f, bd_callee_kind kind,
                               const char *device, const bd_callee **out, braid_status *st);

// Calls the function: see bd_invocation. The environment and the arguments are referenced until the end.
// InvalidArgument when the arguments do not match the function's; ResourceExhausted beyond BD_CALL_DEPTH_MAX.
void bd_function_call(bd_function_runtime *fs, const bd_callee *f, const bd_invocation *call);

// Finds `f`, as BD_CALLEE_LOCAL, on the device with that full name, and calls it there. The device may be
// one of another task of the cluster: see bd_remote_functions in runtime/function_runtime.h. `done` gets the
// error of finding, too.
void bd_function_call_on(bd_function_runtime *fs, const bd_func_ref *f, const char *device,
                         const bd_invocation *call);

// From a kernel: finds `f` in the step's environment and calls it with the step. `done` gets the error of
// finding, too.
void bd_step_call(bd_step *step, const bd_func_ref *f, bd_callee_kind kind, const braid_tensor *args,
                  int arg_count, bd_function_done_fn done, void *arg);

#endif
