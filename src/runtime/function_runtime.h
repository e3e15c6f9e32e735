// Functions at run time: the environment in which steps call them (op/function.h), with the compiled bodies.
//
// An environment belongs to a graph that was compiled for the devices of this process; it has one view for
// each device. A function is compiled once for each set of attr values, kind of call and device: its body
// becomes an executable of its own, rewritten like the graph. A call is one run of it with a call frame, a
// token below the caller's, and loop frames of its own.
#ifndef BD_RUNTIME_FUNCTION_RUNTIME_H
#define BD_RUNTIME_FUNCTION_RUNTIME_H

#include "op/function.h"
#include "runtime/executable.h"

// A call of a function on a device of another task.
typedef struct bd_remote_call {
    bd_library *library; // of the caller; borrowed until bd_remote_functions_ops.call returns, as the rest
    const bd_func_ref *function;
    const char *device; // full name
    unsigned disabled_rewrites;
    const bd_invocation *call;
} bd_remote_call;

// Calls functions on other tasks: cluster/worker/remote_functions.h. Counted.
typedef struct bd_remote_functions bd_remote_functions;
typedef struct bd_remote_functions_ops {
    // As bd_function_call; `done` gets the error of finding, too. The function runs in a step of its own on
    // the other task, and is cancelled with the caller's step.
    void (*call)(bd_remote_functions *r, const bd_remote_call *call);
    void (*destroy)(bd_remote_functions *r);
} bd_remote_functions_ops;

struct bd_remote_functions {
    const bd_remote_functions_ops *ops;
    atomic_int refs;
};

static inline bd_remote_functions *bd_remote_functions_ref(bd_remote_functions *r) // NULL is accepted
{
    if (r) atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}
static inline void bd_remote_functions_unref(bd_remote_functions *r) // NULL is accepted
{
    if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) r->ops->destroy(r);
}

// What functions see of the task that they run on.
typedef struct bd_function_surroundings {
    const bd_local_devices *devices; // they must outlive the environment; the arrays are copied
    bd_resources *resources; // one more reference is taken; NULL: those of the device that a function runs on
    bd_remote_functions *remote; // one more reference is taken; NULL: there are no other tasks
    unsigned disabled_rewrites;  // as for bd_executable_compile
} bd_function_surroundings;

// Makes an environment with count 1 over `library` (one more reference is taken; NULL: no functions).
bd_function_runtime *bd_function_runtime_new(bd_library *library, const bd_function_surroundings *around);

// The view of the same environment from another of its devices.
bd_function_runtime *bd_function_runtime_on(bd_function_runtime *fs, const bd_device *device);

// Empties a step's container on all devices: functions may have stored resources on devices on which the step
// has no nodes.
void bd_function_runtime_clear(bd_function_runtime *fs, const char *container);

#endif
