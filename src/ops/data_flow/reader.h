// Readers: resources that read records from files whose names come from a queue.
//
// One execution at a time owns the turn on a reader; the others wait in a waitlist (wait_queue.h). The owner
// alternates between the disk (op/io_pool.h) and the queue, and holds no thread while it waits for either. A
// step that is cancelled leaves the waitlist, or the queue's, or stops between records; then the next
// execution gets the turn.
#ifndef BD_OPS_DATA_FLOW_READER_H
#define BD_OPS_DATA_FLOW_READER_H

#include "io/file.h"
#include "ops/data_flow/queue.h"

extern const bd_resource_type bd_reader_type;

// A record: key and value. The caller frees both with bd_free.
typedef struct bd_record {
    bd_string key, value;
} bd_record;

// A kind of reader. `state` is zeroed memory of `state_size` that begins with the node's options (`options`).
typedef struct bd_reader_kind {
    const char *name; // "TextLineReader"
    size_t state_size, options_size;
    bool has_state; // that can be saved and restored between records
    // Begins with a file. May be NULL. On an error `close` is not called.
    braid_code (*open)(void *state, const bd_fs *fs, const char *path, braid_status *st);
    // The next record of the file; *is_last when the file has no more, `found` when this call gave one.
    braid_code (*read)(void *state, const bd_fs *fs, const char *path, bd_record *record, bool *found,
                       bool *is_last, braid_status *st);
    void (*close)(void *state); // closes the file, if one is open. May be NULL.
} bd_reader_kind;

typedef struct bd_reader {
    bd_resource base;
    const bd_reader_kind *kind;
    char *name; // owned; of the node that made it
    bd_wait_queue wait_queue;
    bd_waitlist turns;                               // guarded by wait_queue.mu, as the next four
    bool is_taken;                                   // an execution owns the turn
    int64_t works_started, works_finished, produced; // files begun and ended, records
    // the file's name, owned; NULL at first; like the fields below, used by the owner of the turn
    char *work;
    void *state; // of the kind
} bd_reader;

// `name` (that of the node, for messages) and the options of the kind are copied.
bd_reader *bd_reader_new(const bd_reader_kind *kind, const char *name, const void *options);

// Waits for the turn, and then calls act(r, c) on a thread that may block (op/io_pool.h), after which the
// execution ends. The caller holds a reference to the reader until it returns.
void bd_reader_act(bd_reader *r, bd_op_ctx *c, void (*act)(bd_reader *r, bd_op_ctx *c));

// Reads up to `count` records, of one file; takes names of files from the queue as it needs them. Outputs 0
// and 1 become keys and values: scalars, or with `many` vectors. Ends the execution, at once or later. The
// caller holds references to both until it returns.
void bd_reader_read(bd_reader *r, bd_queue *q, bd_op_ctx *c, int64_t count, bool many);

// Records produced and files ended so far.
void bd_reader_counts(bd_reader *r, int64_t *produced, int64_t *works_finished);

// For the owner of the turn: closes the file and resets all counts.
void bd_reader_reset(bd_reader *r);
// For the owner of the turn, for a kind with a state: sets the state.
void bd_reader_set_state(bd_reader *r, int64_t works_started, int64_t works_finished, int64_t produced,
                         const char *work);

#endif
