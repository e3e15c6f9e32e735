// Datasets, and the iterators over them.
//
// A dataset is a variant, the output of a tf.data op. It is immutable and references its input datasets; all
// state is in iterators. A kind of dataset is one struct of functions, in the file of its ops.
//
// Iterators are connected as their datasets are, and take turns. An iterator that needs an element pulls its
// input; a pulled iterator answers with an element, the end or an error, or waits for an event and answers
// later. A function of an iterator never calls another iterator: it returns the next turn, and bd_turn_run
// runs the turns. So a pipeline of any depth needs little stack, a waiting iterator holds no thread, and each
// iterator is a small state machine over `next` (it was pulled) and `received` (its input has answered); only
// one of its functions runs at a time.
//
// A chain is a sequence of iterators that take turns. A stage that works ahead (prefetching, parallel calls)
// has a chain of its own below it, which runs concurrently, so that stage has a lock. A chain ends by its
// token: once that is cancelled, a pulled iterator answers Cancelled.
#ifndef BD_OPS_DATASET_DATASET_H
#define BD_OPS_DATASET_DATASET_H

#include "base/map.h"
#include "base/thread.h"
#include "graph/shape_fn.h"
#include "op/io_pool.h"
#include "ops/common/variant.h"

typedef struct bd_dataset bd_dataset;
typedef struct bd_iterator bd_iterator;
typedef struct bd_chain bd_chain;

// ---- Datasets ----

#define BD_CARDINALITY_INFINITE (-1)
#define BD_CARDINALITY_UNKNOWN (-2)

// Deeper pipelines are refused, because opening and freeing one recurses.
#define BD_DATASET_DEPTH_MAX 1000

extern const bd_variant_type bd_dataset_type;

typedef enum bd_turn_kind {
    // no iterator's: this one answers later, by bd_turn_run. It may have answered already and be freed
    BD_TURN_WAIT,
    BD_TURN_PULL,  // `it` is asked for an element
    BD_TURN_ANSWER // `it` answers the iterator that pulled it
} bd_turn_kind;

typedef struct bd_turn {
    bd_turn_kind kind;
    bd_iterator *it;
} bd_turn;

#define BD_WAIT                                                                                              \
    (bd_turn)                                                                                                \
    {                                                                                                        \
        .kind = BD_TURN_WAIT                                                                                 \
    }

// What an OptimizeDataset asks of the iterators below it, by the names of TensorFlow's rewrites of pipelines.
enum {
    BD_REWRITE_MAKE_SLOPPY = 1,       // elements in any order: bd_iterator_keeps_order
    BD_REWRITE_SHUFFLE_AND_REPEAT = 2 // "shuffle_and_repeat_fusion": other random numbers are drawn
};

typedef struct bd_dataset_kind {
    const char *name; // "Batch"
    // of the kind's own structs, which start with the structs below
    size_t dataset_size, iterator_size;
    void (*destroy)(bd_dataset *d);              // frees the fields of the kind; may be NULL
    int64_t (*cardinality)(const bd_dataset *d); // NULL: unknown
    // open shards below it take the shard that this dataset selects (ops/dataset/take_skip_shard.c)
    bool says_shard;
    bool gathers_stats; // iterators below put statistics to its aggregator (ops/dataset/stats.c)
    bool opens_input;   // an iterator has one over the first input from its beginning: it->input
    // A new reference to the dataset in whose place `d` stands under these rewrites; NULL: it is itself. May
    // be NULL.
    bd_dataset *(*rewrite)(const bd_dataset *d, unsigned rewrites);
    // Initializes an iterator, whose memory is zero. On an error `close` is called. May be NULL.
    braid_code (*open)(bd_iterator *it, braid_status *st);
    // It was pulled. It has not answered "end" before.
    bd_turn (*next)(bd_iterator *it);
    // `from`, which it has pulled, has answered. NULL for a source.
    bd_turn (*received)(bd_iterator *it, bd_iterator *from);
    // The iterator will not be pulled again: a stage that works ahead stops. May be NULL.
    void (*stop)(bd_iterator *it);
    // The last reference is dropped: frees the fields of the kind. May be NULL.
    void (*close)(bd_iterator *it);
} bd_dataset_kind;

struct bd_dataset {
    bd_variant base;
    const bd_dataset_kind *kind;
    int depth;
    int count;           // components of an element
    braid_dtype *types;  // [count]
    braid_shape *shapes; // [count], as far as they are known
    int input_count;
    bd_dataset **inputs; // references
    unsigned rewrites;   // BD_REWRITE_..., which it asks of iterators over it and below
    const char *
        // the op by which its elements depend on more than the dataset; NULL: they are the same each time.
        // Not owned
        state;
};

static inline bd_dataset *bd_dataset_ref(bd_dataset *d)
{
    bd_variant_ref(&d->base);
    return d;
}
static inline void bd_dataset_unref(bd_dataset *d)
{
    if (d) bd_variant_unref(&d->base);
}

// Types and shapes of an element's components, borrowed.
typedef struct bd_components {
    int count;
    const braid_dtype *types;  // [count]
    const braid_shape *shapes; // [count]
} bd_components;

// The components of a dataset or a pipeline.
#define BD_COMPONENTS(x) ((bd_components){(x)->count, (x)->types, (x)->shapes})

// Makes a dataset with count 1. Types (NULL: left invalid) and shapes (NULL: unknown) are copied; the caller
// keeps its references to the inputs. InvalidArgument, with *out NULL, when it is deeper than
// BD_DATASET_DEPTH_MAX.
braid_code bd_dataset_new(const bd_dataset_kind *kind, bd_components components, bd_dataset *const *inputs,
                          int input_count, bd_dataset **out, braid_status *st);

int64_t bd_dataset_cardinality(const bd_dataset *d);
int64_t bd_cardinality_of_input(const bd_dataset *d); // for kinds that have as many elements as their input

// InvalidArgument, in TensorFlow's words, unless the components `got` are compatible with `want`.
braid_code bd_check_components(bd_components want, bd_components got, braid_status *st);

// ---- For kernels. False or NULL: the kernel has failed ----

bd_dataset *bd_input_dataset(bd_op_ctx *c, int i); // borrowed from the input
// A dataset over that of input 0, with the same components.
bd_dataset *bd_dataset_over_input(bd_op_ctx *c, const bd_dataset_kind *kind);
bool bd_output_dataset(bd_op_ctx *c, bd_dataset *d); // takes the reference
// A scalar input; `name` for messages.
bool bd_input_scalar(bd_op_ctx *c, int i, const char *name, braid_dtype type);
bool bd_input_scalar_int(bd_op_ctx *c, int i, const char *name, int64_t *value);

// Every input is a scalar, and so is the output.
braid_code bd_shape_fn_scalars(bd_shape_ctx *c, braid_status *st);
// Outputs have the shapes in attr output_shapes.
braid_code bd_shape_fn_output_shapes(bd_shape_ctx *c, braid_status *st);

// The attributes of most dataset ops.
#define BD_DATASET_ATTRS "output_types:list(type)>=1; output_shapes:list(shape)>=1"
// An attribute that TensorFlow 2 adds to most dataset ops: names for its own diagnosis.
#define BD_DATASET_METADATA "+metadata:string=''"

// What a saved iterator says of elements in any order, for the deviations of ops.
#define BD_ANY_ORDER_SAVED                                                                                   \
    "Saved where any order is allowed, an iterator only knows how many elements it gave: some may come twice or never."

// Whether iterators of a dataset that works on several elements at a time keep their order.
typedef enum bd_order {
    BD_ORDER_DEFAULT, // unless a dataset above allows any
    BD_ORDER_KEPT,
    BD_ORDER_ANY
} bd_order;

// The order that the node's attribute `sloppy` or `deterministic` says. False: the kernel has failed.
bool bd_order_of_attr(bd_op_ctx *c, bd_order *order);

// ---- Iterators ----

typedef enum bd_answer_kind {
    BD_ANSWER_END,
    BD_ANSWER_ELEMENT,
    BD_ANSWER_ERROR
} bd_answer_kind;

typedef struct bd_answer {
    bd_answer_kind kind;
    braid_tensor *tensors; // [count of the dataset], "no tensor" unless an element
    braid_status st;       // of an error
} bd_answer;

// First member of an iterator.
struct bd_iterator {
    atomic_int refs;
    bool has_ended;
    bd_dataset *dataset; // a reference
    bd_chain *chain;     // it takes its turns in; a reference
    // identifies it among the iterators of the pipeline; it is the same when the pipeline is opened again
    uint64_t path;
    bd_chain *calls;     // the chain whose token cancels function calls; not owned; NULL: `chain`
    bd_iterator *parent; // that has pulled it; NULL at the top
    bd_iterator *input;  // owned; NULL
    bd_dataset *shard;   // the dataset that selects a shard of this one; a reference; NULL: none
    bd_dataset *stats;   // the dataset that collects its statistics; a reference; NULL: none
    unsigned rewrites;   // BD_REWRITE_..., of its dataset and those above
    bd_answer answer;
};

// Opens an iterator over `d` in a chain, with count 1. `owner` (NULL: none) opens it as its input number
// `index` (0 for a single input).
braid_code bd_iterator_open(bd_dataset *d, bd_chain *chain, const bd_iterator *owner, int64_t index,
                            bd_iterator **out, braid_status *st);
bd_iterator *bd_iterator_ref(bd_iterator *it);
void bd_iterator_unref(bd_iterator *it);
// Stops it and drops the owner's reference. NULL is accepted.
void bd_iterator_close(bd_iterator *it);
static inline bool bd_iterator_keeps_order(const bd_iterator *it, bd_order order)
{
    return order == BD_ORDER_KEPT || (order == BD_ORDER_DEFAULT && !(it->rewrites & BD_REWRITE_MAKE_SLOPPY));
}

// Closes it->input and opens it anew.
braid_code bd_iterator_reopen_input(bd_iterator *it, braid_status *st);

// The name of an object in pipeline->resources that iterators of the same path share; the caller frees it.
char *bd_iterator_shared_name(const bd_iterator *it, const char *what);

// Records seeds that were drawn at random for the iterator's dataset. If seeds are restored, `seeds` becomes
// the restored ones.
void bd_iterator_note_seeds(const bd_iterator *it, int64_t seeds[2]);
// Restores the seeds of a path, before any iterator is opened.
void bd_chain_restore_seeds(bd_chain *top, uint64_t path, const int64_t seeds[2]);

// ---- Turns ----

// Runs turns until all iterators wait.
void bd_turn_run(bd_turn turn);
// The same on another thread, if there is one.
void bd_turn_spawn(bd_chain *chain, bd_turn turn);
// Starts the turn of a chain below while this one continues with `next`, which is returned. The turn does not
// run on this thread, even if it is idle, because this step may be cancelled while the chain below continues.
// Without a thread pool the chain runs on the waiting thread.
bd_turn bd_turn_spawn_beside(bd_chain *below, bd_turn turn, bd_turn next);

// The turns that an iterator returns. An element is first stored to it->answer.tensors. (`it` is NULL for the
// caller that pulls the topmost iterator.)
bd_turn bd_pull(bd_iterator *it, bd_iterator *from);
bd_turn bd_give(bd_iterator *it);
bd_turn bd_give_end(bd_iterator *it);
bd_turn bd_give_error(bd_iterator *it, braid_status *st); // moves `st`
bd_turn bd_give_failure(bd_iterator *it, braid_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bd_turn bd_give_out_of_memory(bd_iterator *it);
// Answers with the answer of `from`.
bd_turn bd_pass(bd_iterator *it, bd_iterator *from);

// The file system for the files of an iterator.
const bd_fs *bd_iterator_fs(const bd_iterator *it);

// Runs fn(it) on a thread that may block on the disk, on this thread if it may; fn returns the next turn.
bd_turn bd_turn_on_disk(bd_iterator *it, bd_turn (*fn)(bd_iterator *it));

// The receiver of an element takes its components (into empty tensors), passes them on, or drops them.
void bd_answer_take(bd_iterator *from, braid_tensor *to);
void bd_answer_drop(bd_iterator *from);
void bd_tensors_fini(braid_tensor *tensors, int count);
void bd_tensors_ref(braid_tensor *to, const braid_tensor *from, int count);

// ---- Chains ----

// The state that all chains of a pipeline share.
typedef struct bd_pipeline {
    atomic_int refs;
    bd_io_pool *io_pool;     // a reference; NULL: turns run on the current thread
    const bd_fs *fs;         // not owned; of the step
    bd_resources *device;    // for functions; a reference
    bd_resources *resources; // of this pipeline: seed generators and caches, by path
    bd_mutex mu;
    bd_imap seeds;        // path -> the seeds that were drawn for it, owned; guarded by mu, as all below
    bool has_other_seeds; // there were more than fit
} bd_pipeline;

// The number of random seeds of a pipeline that can be saved.
#define BD_PIPELINE_SEEDS_MAX 4096

struct bd_chain {
    atomic_int refs;
    bd_pipeline *pipeline;  // a reference
    bd_cancellation *token; // owned
    // The topmost iterator has answered; returns the next turn, perhaps the iterator's own again. Not for a
    // chain below a stage.
    bd_turn (*answered)(bd_chain *chain, bd_iterator *it);
    // Returns whether the chain postpones the turn: it then keeps it and continues with it later. NULL:
    // never.
    bool (*parks)(bd_chain *chain, bd_turn turn);
    void *arg; // of the two
};

// The chain of a pipeline's top; `parent` (may be NULL) cancels its token. With count 1.
bd_chain *bd_chain_new(const bd_step *step, bd_cancellation *parent);
// One below a stage that works ahead.
bd_chain *bd_chain_below(bd_chain *chain);
bd_chain *bd_chain_ref(bd_chain *chain);
void bd_chain_unref(bd_chain *chain);
void bd_chain_stop(bd_chain *chain); // cancels its token

#endif
