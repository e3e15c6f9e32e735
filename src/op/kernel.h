// The interface of kernels, and the context in which they run.
//
// A kernel is bound to its node when a plan is compiled (`create` reads the attributes, once) and then runs
// in every step: `run` computes and returns; `start` begins an operation that waits (a receive, a dequeue),
// holds no thread, and ends with bd_op_done, exactly once, perhaps on another thread, perhaps before `start`
// returns.
#ifndef BD_OP_KERNEL_H
#define BD_OP_KERNEL_H

#include "base/team.h"
#include "graph/graph.h"
#include "op/step.h"
#include "op/variable.h"

typedef struct bd_op_ctx bd_op_ctx;

enum {
    BD_KERNEL_EXPENSIVE = 1, // worth a task in the pool; other kernels run on the thread that made them ready
    // Also serves narrow types by widening them: half and bfloat16 to float, integers of 8 and 16 bits to
    // int32 (op/kernel_widen.h). For kernels with `run` whose inputs and outputs are values, and whose
    // results in the wider type are correct.
    BD_KERNEL_WIDENS = 2,
    // And finite results beyond the narrow type's range become its ends: for kernels that give ends of
    // theirs.
    BD_KERNEL_CLAMPS = 4,
    // And float attrs are numbers of the narrow type, too: rounded to it.
    BD_KERNEL_ROUNDS_ATTRS = 16,
    BD_KERNEL_CALLS = 8, // calls functions: how long it holds its thread depends on values
    // Of a stateful op: its loops may be interrupted (base/interrupt.h), because they make outputs only, as
    // random numbers are. Kernels of other ops always may.
    BD_KERNEL_INTERRUPTIBLE = 32,
};

typedef struct bd_kernel {
    const char *types;       // which values of type attrs it serves: "T=float|double; Tidx=int32"; NULL: any
    const char *device_type; // NULL: "CPU"
    unsigned flags;
    size_t state_size; // zeroed memory that belongs to the bound kernel: c->state
    // Reads attrs of the node into `state`; NULL: nothing to read. On an error `destroy` is not called.
    // `node` outlives the state. The state of a stateful node, which all plans of a session share, is made
    // from a copy of the node whose inputs are not connected.
    braid_code (*create)(const braid_op *node, void *state, braid_status *st);
    void (*destroy)(void *state); // NULL: there is nothing to free
    void (*run)(bd_op_ctx *c);    // either run
    void (*start)(bd_op_ctx *c);  // or start
} bd_kernel;

#define BD_KERNELS(...)                                                                                      \
    (const bd_kernel[]){__VA_ARGS__},                                                                        \
        .kernel_count = sizeof((const bd_kernel[]){__VA_ARGS__}) / sizeof(bd_kernel)

// Finds the kernel of an op for these attrs and this type of device. NotFound lists the supported types.
braid_code bd_kernel_find(const braid_op *node, const char *device_type, const bd_kernel **kernel,
                          braid_status *st);

// The types of type attr `attr` that a kernel for CPUs serves, narrow ones included; all types without a
// constraint.
bd_dtype_set bd_kernel_types(const bd_kernel *k, const char *attr);

// The reason why Braid does not support an op of TensorFlow: "it is for TPUs". NULL: no reason is known.
const char *bd_op_unsupported(const char *op_type);

// The attr of a fused node that lists the original nodes: name and op of each node, in the order in which
// they would have run.
#define BD_FUSED_NODES_ATTR "_parts"

// The node that an error of `node` in original node `part` names: see bd_op_ctx.failed_part.
void bd_node_fused(const braid_op *node, int part, const char **name, const char **op_type);

// The value of an edge: a tensor, or a reference to a variable.
typedef struct bd_value {
    braid_tensor tensor; // owned; "no tensor" on a reference edge
    bd_variable *ref;    // owned reference; NULL on a value edge
} bd_value;

static inline void bd_value_fini(bd_value *v)
{
    bd_tensor_fini(&v->tensor);
    if (v->ref) {
        bd_resource_unref(&v->ref->base);
        v->ref = NULL;
    }
}

// One execution of a node. Kernels use the functions below; the executor owns the struct.
struct bd_op_ctx {
    const braid_op *node;
    void *state;
    bd_value *inputs;  // [input_count]; a value input that came over a reference edge has been read already
    bd_value *outputs; // [output_count], empty at the start
    int input_count, output_count;
    bool is_input_dead;  // seen by Send only
    bool is_output_dead; // set by Recv
    uint64_t frame_id;   // of the frame and iteration it runs in: part of rendezvous keys; 0 at the root
    int64_t iteration;
    bd_step *step;
    braid_status status;        // the kernel's error
    int failed_part;            // of a fused node: which node it stood for failed; 0: it itself
    void (*done)(bd_op_ctx *c); // of the executor, for bd_op_done
};

static inline const braid_tensor *bd_input(const bd_op_ctx *c, int i)
{
    return &c->inputs[i].tensor;
}
// The variable of a reference input.
static inline bd_variable *bd_input_ref(const bd_op_ctx *c, int i)
{
    return c->inputs[i].ref;
}

// Allocates output `i`; NULL when memory is short (the error is set: return).
braid_tensor *bd_output(bd_op_ctx *c, int i, braid_dtype dtype, const braid_shape *shape);

// Like bd_output, but in the memory of value input `input` if it is unshared, the type's size and the number
// of elements agree, and it is not the memory of a variable or a constant. The input stays readable: it then
// shares the memory.
braid_tensor *bd_output_forward(bd_op_ctx *c, int i, int input, braid_dtype dtype, const braid_shape *shape);

// bd_output_set makes output `i` share the memory of `t`; bd_output_ref makes it a reference to variable `v`.
void bd_output_set(bd_op_ctx *c, int i, const braid_tensor *t);
void bd_output_ref(bd_op_ctx *c, int i, bd_variable *v); // takes one more reference

// The kernel's error. The executor adds the node: ` [[{{node NAME}}]]`. Only the first counts.
void bd_op_fail(bd_op_ctx *c, braid_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void bd_op_fail_status(bd_op_ctx *c, const braid_status *st);
// The error belongs to node `part` of the nodes that the fused node replaces (attr BD_FUSED_NODES_ATTR):
// messages name that node.
void bd_op_fail_part(bd_op_ctx *c, int part);
static inline bool bd_op_failed(const bd_op_ctx *c)
{
    return c->status.code != BRAID_OK;
}
// Whether the kernel is interrupted (base/interrupt.h): then it fails, as after any error. For loops that
// find what later ones rely on: checked indices, numbers of elements.
bool bd_op_interrupted(bd_op_ctx *c);
// Fails the execution (ResourceExhausted) when memory was short for a string of output `i`. For callers of
// kernels.
void bd_op_check_strings(bd_op_ctx *c, int i);

// Ends an execution begun by `start`; `c` is not the kernel's any more.
static inline void bd_op_done(bd_op_ctx *c)
{
    c->done(c);
}

// The file system for all files that a kernel opens, looks at or changes: on a server, the files that it
// opens to graphs.
static inline const bd_fs *bd_op_fs(const bd_op_ctx *c)
{
    return bd_step_fs(c->step);
}

// Splits [0, count) into pieces of at least `grain` and runs fn over them on the step's pool and this thread;
// returns when all are done. Runs in one piece when that is not worth it.
void bd_parallel_for(bd_op_ctx *c, int64_t count, int64_t grain,
                     void (*fn)(void *arg, int64_t from, int64_t to), void *arg);

// The same threads, for numeric loops that take a team.
typedef struct bd_op_team {
    bd_team base;
    bd_op_ctx *c;
} bd_op_team;
bd_op_team bd_op_team_of(bd_op_ctx *c);

#endif
