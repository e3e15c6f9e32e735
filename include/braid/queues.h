// Queues of tensors, readers of files, and the input pipelines of queue runners (tf.train.batch and others).
//
//     braid_producer_options thrice = {.num_epochs = 3};
//     braid_queue files = braid_string_input_producer(graph, names, &thrice);
//     braid_read record = braid_reader_read(graph, braid_tf_record_reader(graph, ""), files);
//     braid_shuffle_batch(graph, &record.value, 1, &(braid_batch_options){.batch_size = 100}, &batch);
//
// Queue runners fill the queues; a monitored session starts them (queue_runner.h). When the input has ended,
// a step fails with OutOfRange.
#ifndef BRAID_QUEUES_H
#define BRAID_QUEUES_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A queue: a value. Its elements have `count` components.
typedef struct braid_queue {
    braid_out handle; ///< op NULL when the graph has failed
    int count;
    const braid_dtype *dtypes; ///< [count], the graph's
    const braid_shape *shapes; ///< [count], the graph's; of unknown rank where not given
} braid_queue;

typedef struct braid_queue_options {
    const braid_dtype *dtypes; ///< [count]
    const braid_shape
        *shapes; ///< [count] fully known; NULL: any, and several elements cannot be dequeued at once
    int count;
    int capacity;            ///< the maximum number of elements; 0: no maximum
    int min_after_dequeue;   ///< of a random queue: elements that stay, to draw from
    int64_t seed;            ///< of a random queue; 0: the graph's seed, or another order in each session
    const char *name;        ///< NULL: after the kind of queue
    const char *shared_name; ///< processes that use a queue under one name on one task share it; NULL: none
} braid_queue_options;

/// A queue in order (tf.FIFOQueue), and one that gives its elements at random (tf.RandomShuffleQueue).
BRAID_API braid_queue braid_fifo_queue(braid_graph *graph, const braid_queue_options *options);
BRAID_API braid_queue braid_random_shuffle_queue(braid_graph *graph, const braid_queue_options *options);
/// A queue in order whose elements may differ in size (tf.PaddingFIFOQueue). `shapes` are required, of known
/// ranks; a dimension of -1 may be different in each element. The elements that are dequeued at once get
/// zeros, or empty strings, at their ends up to the largest size among them.
BRAID_API braid_queue braid_padding_fifo_queue(braid_graph *graph, const braid_queue_options *options);
/// A queue that gives the element of the lowest priority number first, of equal ones the oldest
/// (tf.PriorityQueue). Component 0 of each element is its priority, an int64 scalar, which precedes those of
/// `options`: the queue has options->count + 1 components.
BRAID_API braid_queue braid_priority_queue(braid_graph *graph, const braid_queue_options *options);

/// The queue of number `index`, an int32 or int64 scalar, among `queues` [count], chosen by each step
/// (QueueBase.from_list). The types of their components must be equal.
BRAID_API braid_queue braid_queue_select(braid_graph *graph, braid_out index, const braid_queue *queues,
                                         int count);

/// Adds an element, or the slices of `components` [queue.count] as one element each. The node waits while the
/// queue is full, and fails with Cancelled when the queue is closed.
BRAID_API braid_op *braid_queue_enqueue(braid_graph *graph, braid_queue queue, const braid_out *components);
BRAID_API braid_op *braid_queue_enqueue_many(braid_graph *graph, braid_queue queue,
                                             const braid_out *components);
/// Takes an element, or `n` elements stacked, and stores the components to `outs` [queue.count]. The node
/// waits for elements, and fails with OutOfRange when the queue is closed and has too few;
/// braid_queue_dequeue_up_to takes fewer then.
BRAID_API void braid_queue_dequeue(braid_graph *graph, braid_queue queue, braid_out *outs);
BRAID_API void braid_queue_dequeue_many(braid_graph *graph, braid_queue queue, int n, braid_out *outs);
BRAID_API void braid_queue_dequeue_up_to(braid_graph *graph, braid_queue queue, int n, braid_out *outs);
/// Closes a queue, whose elements can still be taken. `cancel_pending_enqueues`: enqueues that wait fail.
BRAID_API braid_op *braid_queue_close(braid_graph *graph, braid_queue queue, bool cancel_pending_enqueues);
/// The number of elements, an int32 scalar.
BRAID_API braid_out braid_queue_size(braid_graph *graph, braid_queue queue);
/// Whether the queue is closed, a bool scalar.
BRAID_API braid_out braid_queue_is_closed(braid_graph *graph, braid_queue queue);

// ---- Readers: the files of a queue, record by record ----

/// A record, and its key, such as "FILE:NUMBER": string scalars, or vectors of several.
typedef struct braid_read {
    braid_out key, value;
} braid_read;

/// Readers, handles (tf.TFRecordReader and others): of records, of lines, of whole files, and of what the
/// queue has instead of files. `compression` is "", "ZLIB" or "GZIP".
BRAID_API braid_out braid_tf_record_reader(braid_graph *graph, const char *compression);
BRAID_API braid_out braid_text_line_reader(braid_graph *graph, int skip_header_lines);
BRAID_API braid_out braid_whole_file_reader(braid_graph *graph);
BRAID_API braid_out braid_identity_reader(braid_graph *graph);

typedef struct braid_fixed_length_options {
    int64_t record_bytes;               ///< of each record, at least 1
    int64_t header_bytes, footer_bytes; ///< at the beginning and the end of each file, skipped
    int64_t hop_bytes;                  ///< from the beginning of a record to the next; 0: record_bytes
    const char *compression;            ///< "ZLIB" or "GZIP"; NULL: none
} braid_fixed_length_options;

/// A reader of records of one length (tf.FixedLengthRecordReader).
BRAID_API braid_out braid_fixed_length_record_reader(braid_graph *graph,
                                                     const braid_fixed_length_options *options);

/// The next record of a reader, which takes names of files from `files` when it needs them. Fails with
/// OutOfRange when the queue has ended.
BRAID_API braid_read braid_reader_read(braid_graph *graph, braid_out reader, braid_queue files);
/// The next records, vectors: up to `count`, and fewer where a file ends.
BRAID_API braid_read braid_reader_read_up_to(braid_graph *graph, braid_out reader, braid_queue files,
                                             int64_t count);
/// How many records the reader has given, and how many files it has read to the end, int64 scalars.
BRAID_API braid_out braid_reader_num_records_produced(braid_graph *graph, braid_out reader);
BRAID_API braid_out braid_reader_num_work_units_completed(braid_graph *graph, braid_out reader);
/// The state of a reader, a string scalar, and the op that sets a reader of the same kind to it. Readers of
/// whole files and of the queue have one; the others fail with Unimplemented.
BRAID_API braid_out braid_reader_serialize_state(braid_graph *graph, braid_out reader);
BRAID_API braid_op *braid_reader_restore_state(braid_graph *graph, braid_out reader, braid_out state);
/// Sets a reader to its beginning: it forgets its file and its counts. Its queue stays as it is.
BRAID_API braid_op *braid_reader_reset(braid_graph *graph, braid_out reader);

// ---- Producers and batches; each makes a queue and adds its queue runner to the graph ----
//
// All but braid_input_producer summarize how full their queues are, under TensorFlow's tags
// ("batch/fraction_of_32_full").

typedef struct braid_producer_options {
    int64_t num_epochs;      ///< ends after so many passes, counted by a local variable; 0: never ends
    bool in_order;           ///< false: each pass in another order
    int64_t seed;            ///< of the order; 0: as for a random queue
    int capacity;            ///< 0: 32
    const char *name;        ///< NULL: "input_producer"
    const char *shared_name; ///< of the queue, as in braid_queue_options
} braid_producer_options;

/// A queue of the slices of `input`, pass after pass (tf.train.input_producer); `options` NULL: the defaults.
BRAID_API braid_queue braid_input_producer(braid_graph *graph, braid_out input,
                                           const braid_producer_options *options);
/// The same for names of files, a vector of strings. A step fails with InvalidArgument when it is empty.
BRAID_API braid_queue braid_string_input_producer(braid_graph *graph, braid_out strings,
                                                  const braid_producer_options *options);
/// The same for the numbers from 0 up to `limit`, int32.
BRAID_API braid_queue braid_range_input_producer(braid_graph *graph, int32_t limit,
                                                 const braid_producer_options *options);
/// Slices of several tensors at a time (tf.train.slice_input_producer): each step takes a number from a
/// queue. Stores the slices of this number to `outs` [count], which may be `tensors`. The tensors have the
/// same first dimension; the graph fails where it is known to differ.
BRAID_API void braid_slice_input_producer(braid_graph *graph, const braid_out *tensors, int count,
                                          const braid_producer_options *options, braid_out *outs);

typedef struct braid_batch_options {
    int batch_size;
    int num_threads;                ///< that run the pipeline; 0: 1. Joins have one for each list
    int capacity;                   ///< 0: 32, for shuffle_batch 10 batches more than `min_after_dequeue`
    int min_after_dequeue;          ///< of shuffled batches
    int64_t seed;                   ///< of shuffled batches
    bool allow_smaller_final_batch; ///< false: elements that do not fill a batch are dropped
    const char *name;               ///< NULL: after the function, as "shuffle_batch"
    bool enqueue_many;              ///< each tensor has many elements along its first dimension
    /// For batches that are not shuffled: dimensions of -1 may be different in each element, and a batch has
    /// zeros, or empty strings, up to the largest of its elements. Ranks must be known.
    bool dynamic_pad;
    const braid_shape *shapes; ///< [count] of the elements, where those of the tensors are not known; or NULL
    /// Which elements are kept (tf.train.maybe_batch, maybe_shuffle_batch, maybe_batch_join and
    /// maybe_shuffle_batch_join): a bool scalar for all elements that are enqueued at once, or, with
    /// `enqueue_many`, a vector of a bool for each of them. Not set: all are kept.
    braid_out keep_input;
    const char *shared_name; ///< of the queue, as in braid_queue_options
} braid_batch_options;

/// Batches of `tensors` [count], of fully known shapes, which the queue runner computes again and again;
/// stores them to `outs` [count], which may be `tensors` (tf.train.batch, tf.train.shuffle_batch).
BRAID_API void braid_batch(braid_graph *graph, const braid_out *tensors, int count,
                           const braid_batch_options *options, braid_out *outs);
BRAID_API void braid_shuffle_batch(braid_graph *graph, const braid_out *tensors, int count,
                                   const braid_batch_options *options, braid_out *outs);
/// Batches of what several pipelines compute, each by a thread of its own: `tensors` [lists][count], list
/// after list, of equal types and shapes (tf.train.batch_join, tf.train.shuffle_batch_join).
BRAID_API void braid_batch_join(braid_graph *graph, const braid_out *tensors, int lists, int count,
                                const braid_batch_options *options, braid_out *outs);
BRAID_API void braid_shuffle_batch_join(braid_graph *graph, const braid_out *tensors, int lists, int count,
                                        const braid_batch_options *options, braid_out *outs);

#ifdef __cplusplus
}
#endif
#endif
