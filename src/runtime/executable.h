// Executables: a graph compiled for the devices of this process, a plan each, and running them as one step.
#ifndef BD_RUNTIME_EXECUTABLE_H
#define BD_RUNTIME_EXECUTABLE_H

#include "base/wire.h"
#include "runtime/plan.h"

typedef struct bd_executable bd_executable;
struct Tensorflow__DebugOptions; // tensorflow/core/protobuf/debug.pb-c.h

// Compiles `g`, whose nodes are placed, into one plan for each device that has nodes, with all rewrites but
// `disabled_rewrites` (BRAID_REWRITE_...), or with the debug nodes of `debug` and no rewrites (debug_nodes.h;
// NULL: none); `g` is used up. The executable has count 1, and an environment for
// the functions that its nodes call. Errors: those of bd_partition_graph and bd_plan_compile.
braid_code bd_executable_compile(braid_graph *g, const bd_local_devices *devices, unsigned disabled_rewrites,
                                 const struct Tensorflow__DebugOptions *debug, bd_kernel_store *store,
                                 bd_executable **out, braid_status *st);
// As a plan cache wants them.
void *bd_executable_ref(void *executable);
void bd_executable_unref(void *executable); // NULL is accepted

// The same for the body of a function: nodes that call functions find them in the environment of the step.
// Its stateful kernels are its own.
braid_code bd_executable_compile_body(braid_graph *g, const bd_local_devices *devices,
                                      unsigned disabled_rewrites, bd_executable **out, braid_status *st);

bool bd_executable_uses_rendezvous(const bd_executable *e);
int64_t bd_executable_count_debug_step(bd_executable *e);  // 0, 1, 2, ...: another step with debug nodes
int bd_executable_partition_count(const bd_executable *e); // the devices it runs on

// Writes the graph of each plan as field `field`, a GraphDef.
void bd_executable_write_graphs(const bd_executable *e, uint32_t field, bd_wire_writer *out);

// Runs all plans, one on this thread and the others from `pool`, and waits until all have ended. `model` is
// the step of each but for the resources, which are the device's. The status is the root cause; the step's
// container is cleared on every device.
braid_code bd_executable_run(bd_executable *e, const bd_step *model, bd_thread_pool *pool, braid_status *st);

// Starts the same and returns; `done` is called exactly once when all plans have ended, perhaps before this
// returns, on any thread. The container is not cleared (bd_executable_clear). `model` is copied; the objects
// that it points to, and the executable, must stay valid until then.
void bd_executable_start(bd_executable *e, const bd_step *model, bd_thread_pool *pool, bd_plan_done_fn done,
                         void *arg);

// Clears a step's container on every device.
void bd_executable_clear(bd_executable *e, const char *container);

#endif
