// Shared by Batch and BatchFunction: a queue that puts the inputs of executions together into batches.
#ifndef BD_OPS_DATA_FLOW_BATCH_QUEUE_H
#define BD_OPS_DATA_FLOW_BATCH_QUEUE_H

#include "op/function.h"
#include "op/kernel.h"

typedef struct bd_batch bd_batch;

// One execution that waits for its batch.
typedef struct bd_batch_task {
    int64_t key;          // a random number that names it
    int64_t offset, size; // its rows of the batch
    bool is_last;         // of the executions that get a result
    const bd_batch *batch;
} bd_batch_task;

typedef struct bd_batch_kind {
    const char *what;  // "Batch", for messages
    bool is_unlimited; // any number of batches may run at the same time
    // Computes the results of a batch, and ends with bd_batch_done, perhaps later. No lock is held.
    void (*run)(bd_batch *b);
    // Sets the outputs of an execution from the results of its batch.
    void (*give)(bd_op_ctx *c, const bd_batch_task *task);
} bd_batch_kind;

// The place of a task in a batch that runs.
typedef struct bd_batch_entry {
    int64_t key, size;
    braid_tensor *inputs; // [input_count], owned by the batch
} bd_batch_entry;

struct bd_batch_queue;

struct bd_batch {
    struct bd_batch_queue *queue;
    const bd_batch_kind *kind;
    bd_batch_entry *entries; // [entry_count]
    int64_t size;            // rows of all entries
    int entry_count, input_count;
    braid_tensor *captured; // [captured_count]: further inputs of the last execution
    int captured_count;
    const bd_callee *callee; // of the same; NULL: none
    bd_function_runtime *functions;
    struct bd_account *account;    // of its step
    bd_cancellation *cancellation; // is cancelled when no execution waits for the results any more
    // Set by `run`, before bd_batch_done:
    braid_status status;
    braid_tensor *results; // [result_count], owned
    int result_count;
};

// What a node says of its queue.
typedef struct bd_batch_options {
    const bd_batch_kind *kind;
    const char *container, *name, *queue; // not owned: of the node
    int64_t threads, size_max, enqueued_max, timeout_micros;
    const int64_t *sizes; // [size_count]: sizes to which a batch is filled up; not owned
    int size_count;
} bd_batch_options;

// Reads the attributes that Batch and BatchFunction share. InvalidArgument.
braid_code bd_batch_options_read(const braid_op *node, const bd_batch_kind *kind, bd_batch_options *o,
                                 braid_status *st);

// Waits for a batch: inputs [0, count) are put together along their first dimension, the others are captured.
// `callee` of `functions` is what the kind calls; NULL: nothing. Ends the execution.
void bd_batch_wait(bd_op_ctx *c, const bd_batch_options *o, int count, const bd_callee *callee);

// Joins input `i` of all entries into `out`, filled up with copies of the first row to an allowed size.
braid_code bd_batch_join(const bd_batch *b, int i, braid_tensor *out, braid_status *st);
// The rows of the batch when it is filled up.
int64_t bd_batch_padded_size(const bd_batch *b);

// Ends a run: the executions that still wait get the results, or the error in `status`.
void bd_batch_done(bd_batch *b);

#endif
