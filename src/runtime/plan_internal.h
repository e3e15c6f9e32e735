// The compiled form of a plan: flat arrays that the executor walks, and the memory of its past executions.
#ifndef BD_RUNTIME_PLAN_INTERNAL_H
#define BD_RUNTIME_PLAN_INTERNAL_H

#include "base/thread.h"
#include "op/kernel.h"
#include "runtime/plan.h"

enum {
    BD_ITEM_MERGE = 1,
    BD_ITEM_ENTER = 2,
    BD_ITEM_CONSTANT_ENTER = 4, // its value is handed to every iteration
    BD_ITEM_EXIT = 8,
    BD_ITEM_NEXT_ITERATION = 16,
    BD_ITEM_CONTROL_TRIGGER = 32,  // runs even when its inputs are dead
    BD_ITEM_SEND = 64,             // runs even when dead
    BD_ITEM_MAY_LACK_OUTPUT = 128, // Switch, Recv: an output not set is dead
    BD_ITEM_EXPENSIVE = 256,
    BD_ITEM_ASYNC = 512,
    BD_ITEM_TAKES_REFERENCE = 1024, // a reference edge ends here
    BD_ITEM_CHANGES_STATE = 2048,   // of more than the step: not interrupted
    BD_ITEM_CROSSES_FRAMES = BD_ITEM_ENTER | BD_ITEM_EXIT | BD_ITEM_NEXT_ITERATION,
};

// A node. One cache line.
typedef struct bd_plan_item {
    void (*run)(bd_op_ctx *c); // or start, if BD_ITEM_ASYNC
    void *state;               // of the plan, or of the kernel store
    const braid_op *node;      // of the plan's graph
    uint32_t flags;
    int32_t input_count, output_count;
    int32_t first_input; // slot of input 0; the other inputs follow
    int32_t first_edge, edge_end;
    int32_t counter;
    int32_t frame;      // it runs in
    int32_t async;      // which async operation of its frame, and the first of the slots
    int32_t async_slot; // for its outputs
} bd_plan_item;

enum {
    BD_EDGE_LAST = 1, // the last edge out of this output: the value moves along it
    BD_EDGE_ONLY = 2, // the only edge that its consumer waits for
    BD_EDGE_TO_MERGE = 4,
};

typedef struct bd_plan_edge {
    int32_t item;   // consumer
    int32_t slot;   // of the consumer's frame; -1: a control edge
    int32_t output; // of the producer; -1: a control edge
    uint32_t flags;
} bd_plan_edge;

// The events that a node still waits for: the low half counts missing inputs (for a Merge: 2 for each control
// input, and 1 until a live value has arrived), the high half counts the dead inputs that arrived.
#define BD_DEAD_ONE ((uint64_t)1 << 32)
static inline uint32_t bd_counter_pending(uint64_t counter)
{
    return (uint32_t)counter;
}
static inline uint32_t bd_counter_dead(uint64_t counter)
{
    return (uint32_t)(counter >> 32);
}

// A frame: the root, or the body of a loop. All its iterations look alike.
typedef struct bd_plan_frame {
    const char *name; // attr frame_name; "" for the root; of the graph
    int32_t enter_count;
    int32_t parallel_iterations;
    int32_t counter_count, slot_count, async_count;
    uint64_t *initial;     // counters at the start [counter_count]
    size_t iteration_size; // of the block that holds an iteration
} bd_plan_frame;

// A constant that is put into its consumer's slot before anything runs.
typedef struct bd_plan_constant {
    int32_t slot;               // of the root frame
    const braid_tensor *tensor; // of the graph
} bd_plan_constant;

struct bd_run;

struct bd_plan {
    atomic_int refs;
    braid_graph graph;
    bd_device *device;   // not owned
    bd_arena arena;      // all arrays below
    bd_charge charge;    // for graph and arena
    bd_plan_item *items; // by node id
    int item_count;
    bd_plan_edge *edges;
    bd_plan_frame *frames; // 0 is the root
    int frame_count;
    int32_t *frame_of_enter; // by node id: the frame that an Enter leads into; -1
    bd_plan_constant *constants;
    int constant_count;
    const braid_op **constant_nodes; // those that the constants are of, for traces
    int constant_node_count;
    int32_t *roots; // items that are ready at once, in the order in which they are to run
    int root_count;
    int output_count_max;
    bool uses_rendezvous;
    bool calls_functions;
    // The last execution that a task has ended went on in tasks that took a short time. Any thread.
    atomic_bool goes_on_shortly;
    bool may_leave_values; // loops and Merges: an execution may end with values in slots
    BD_ARRAY(struct owned_state {
        const bd_kernel *kernel;
        void *state;
    })
    states; // of stateless kernels
    bd_mutex mu;
    struct bd_run *free_runs; // guarded by mu
    struct bd_run *runs;      // in progress; guarded by mu
};

// Finds the frame of each node (frame_of, by node id) and the frame that each Enter leads into; fills
// plan->frames. InvalidArgument for a graph with edges between frames that are not Enter or Exit.
braid_code bd_plan_find_frames(bd_plan *p, int32_t *frame_of, const bd_consumers *consumers,
                               braid_status *st);

// The state of the bound kernel of a stateful node, made at the first call.
braid_code bd_kernel_store_get(bd_kernel_store *s, const braid_op *node, const char *device,
                               const bd_kernel *kernel, void **state, braid_status *st);

void bd_run_destroy(struct bd_run *r); // of a run on the free list

#endif
