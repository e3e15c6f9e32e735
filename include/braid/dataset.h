// Input pipelines (tf.data): datasets, transformations of datasets, and iterators over them.
//
//     braid_dataset d = braid_dataset_tf_record(graph, files, "");
//     d = braid_dataset_shuffle(graph, d, 10000, 0, true);
//     d = braid_dataset_batch(graph, braid_dataset_repeat(graph, d, -1), 100, true);
//     d = braid_dataset_parse_example(graph, d, features, 2, 2);
//     d = braid_dataset_prefetch(graph, d, 1);
//     braid_iterator it = braid_make_initializable_iterator(graph, d, NULL);
//     braid_iterator_get_next(graph, it, batch);
//
// Each function builds the nodes that TensorFlow's function of the same name builds. Errors are sticky in the
// graph (graph.h); a dataset is then empty, and later calls accept it.
#ifndef BRAID_DATASET_H
#define BRAID_DATASET_H

#include <braid/graph.h>
#include <braid/parsing.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A dataset: a value. Its elements have `count` components.
typedef struct braid_dataset {
    braid_out variant; ///< the dataset in the graph; op NULL when the graph has failed
    int count;
    const braid_dtype *dtypes; ///< [count], the graph's
    const braid_shape *shapes; ///< [count], the graph's; -1 stands for any size
} braid_dataset;

// ---- Sources ----

/// One element: the given tensors.
BRAID_API braid_dataset braid_dataset_from_tensors(braid_graph *graph, const braid_out *components,
                                                   int count);
/// The slices of the tensors along their first dimensions, which are equal.
BRAID_API braid_dataset braid_dataset_from_tensor_slices(braid_graph *graph, const braid_out *components,
                                                         int count);
/// int64 scalars from `start` on, before `stop`.
BRAID_API braid_dataset braid_dataset_range(braid_graph *graph, int64_t start, int64_t stop, int64_t step);
/// The names of the files that match `patterns` (a string, or a vector of strings), in order. A step fails
/// with NotFound when there is none.
BRAID_API braid_dataset braid_dataset_list_files(braid_graph *graph, braid_out patterns);
/// The lines of text files, without line ends. `files` is a string or a vector of strings,
/// `compression` "", "ZLIB" or "GZIP".
BRAID_API braid_dataset braid_dataset_text_line(braid_graph *graph, braid_out files, const char *compression);
/// The records of TFRecord files.
BRAID_API braid_dataset braid_dataset_tf_record(braid_graph *graph, braid_out files, const char *compression);
/// Records of `record_bytes` bytes each, between a header and a footer of each file.
BRAID_API braid_dataset braid_dataset_fixed_length_record(braid_graph *graph, braid_out files,
                                                          int64_t record_bytes, int64_t header_bytes,
                                                          int64_t footer_bytes);
/// Scalars from the lines of CSV files, one component for each of `record_defaults` [count]: float, double,
/// int32, int64 or string. A default is a vector of one element, or of none where a value must be given.
/// `has_header`: the first line of each file is skipped.
BRAID_API braid_dataset braid_dataset_csv(braid_graph *graph, braid_out files,
                                          const braid_out *record_defaults, int count, bool has_header);

// ---- Transformations ----

/// A negative count: for ever (repeat), all (take), none left (skip).
BRAID_API braid_dataset braid_dataset_repeat(braid_graph *graph, braid_dataset dataset, int64_t count);
BRAID_API braid_dataset braid_dataset_take(braid_graph *graph, braid_dataset dataset, int64_t count);
BRAID_API braid_dataset braid_dataset_skip(braid_graph *graph, braid_dataset dataset, int64_t count);
/// Every `num_shards`th element, from number `index` on: a worker's part.
BRAID_API braid_dataset braid_dataset_shard(braid_graph *graph, braid_dataset dataset, int64_t num_shards,
                                            int64_t index);
/// Elements drawn at random from a buffer of `buffer_size`. `seed` 0: in an order that the graph's seed
/// gives, or another one in each session when the graph has no seed (tf.get_seed).
BRAID_API braid_dataset braid_dataset_shuffle(braid_graph *graph, braid_dataset dataset, int64_t buffer_size,
                                              int64_t seed, bool reshuffle_each_iteration);
/// `batch_size` elements, which have equal shapes, stacked. The last batch is smaller, or dropped.
BRAID_API braid_dataset braid_dataset_batch(braid_graph *graph, braid_dataset dataset, int64_t batch_size,
                                            bool drop_remainder);
/// The same for elements of different shapes: they are padded with zeros, or empty strings, to
/// `padded_shapes` [components], in which -1 stands for the largest of the batch. NULL: the shapes of the
/// dataset.
BRAID_API braid_dataset braid_dataset_padded_batch(braid_graph *graph, braid_dataset dataset,
                                                   int64_t batch_size, const braid_shape *padded_shapes,
                                                   bool drop_remainder);
/// Parses batches of Examples, `parallel_calls` at a time. The components are the features, which must
/// be of fixed shapes, in the order of their names.
BRAID_API braid_dataset braid_dataset_parse_example(braid_graph *graph, braid_dataset dataset,
                                                    const braid_feature *features, int count,
                                                    int parallel_calls);
/// Gets up to `buffer_size` elements ready while others are used; -1: as many as turn out to be of use.
BRAID_API braid_dataset braid_dataset_prefetch(braid_graph *graph, braid_dataset dataset,
                                               int64_t buffer_size);
/// Keeps the elements of the first pass for later ones: in files named `file...`, or in memory (NULL).
BRAID_API braid_dataset braid_dataset_cache(braid_graph *graph, braid_dataset dataset, const char *file);
/// Elements of several datasets side by side, as long as each has one.
BRAID_API braid_dataset braid_dataset_zip(braid_graph *graph, const braid_dataset *datasets, int count);
/// The elements of `first`, then those of `second`, which have the same types.
BRAID_API braid_dataset braid_dataset_concatenate(braid_graph *graph, braid_dataset first,
                                                  braid_dataset second);

// ---- Functions of elements ----
//
// A C function builds the nodes on `body`, a graph of its own, from the components of an element; `arg` is
// the caller's. It is called once, while the dataset is built. Outputs of the graph outside that it uses are
// captured (function.h): they are computed once, when an iterator begins.

/// Builds the components `results` [result_count] that replace an element.
typedef void (*braid_map_fn)(void *arg, braid_graph *body, const braid_out *element, braid_out *results);
/// Builds a bool scalar: whether the element stays.
typedef braid_out (*braid_predicate_fn)(void *arg, braid_graph *body, const braid_out *element);
/// Builds a dataset of an element.
typedef braid_dataset (*braid_dataset_fn)(void *arg, braid_graph *body, const braid_out *element);

/// Elements with `result_count` components that `map` makes of each, in order, up to `parallel_calls`
/// at a time; 0: one by one, -1: as many as turn out to be of use.
BRAID_API braid_dataset braid_dataset_map(braid_graph *graph, braid_dataset dataset, braid_map_fn map,
                                          void *arg, int result_count, int parallel_calls);
/// The elements for which `predicate` is true.
BRAID_API braid_dataset braid_dataset_filter(braid_graph *graph, braid_dataset dataset,
                                             braid_predicate_fn predicate, void *arg);
/// The elements of the datasets that `make` makes, one dataset after another.
BRAID_API braid_dataset braid_dataset_flat_map(braid_graph *graph, braid_dataset dataset,
                                               braid_dataset_fn make, void *arg);

typedef struct braid_interleave_options {
    int64_t cycle_length;   ///< the number of datasets that take turns, at least 1
    int64_t block_length;   ///< elements in a row from each; 0: 1
    int64_t parallel_calls; ///< datasets that are read at a time; 0: one by one, -1: as many as are of use
    bool sloppy;            ///< with `parallel_calls`: in the order in which elements are ready
} braid_interleave_options;

/// The elements of the datasets that `make` makes, `cycle_length` of which take turns (interleave).
BRAID_API braid_dataset braid_dataset_interleave(braid_graph *graph, braid_dataset dataset,
                                                 const braid_interleave_options *options,
                                                 braid_dataset_fn make, void *arg);

// ---- Iterators ----

typedef struct braid_iterator {
    braid_out handle;
    /// Sets the iterator to the beginning of its dataset. Monitored sessions run it when they begin, since it
    /// is in the collection "table_initializer".
    braid_op *initializer;
    braid_dataset dataset;
} braid_iterator;

/// `shared_name` NULL: the iterator belongs to its node.
BRAID_API braid_iterator braid_make_initializable_iterator(braid_graph *graph, braid_dataset dataset,
                                                           const char *shared_name);
/// An iterator without an initializer, which begins at its first element (tf.data's
/// make_one_shot_iterator). The dataset and the nodes that it needs are copied into a function; the
/// graph fails when they include a placeholder, a variable or a table.
BRAID_API braid_iterator braid_make_one_shot_iterator(braid_graph *graph, braid_dataset dataset);
/// An iterator over datasets of the types and shapes of `like`, whose variant may be nothing. Its
/// initializers are made by braid_iterator_make_initializer; its member `initializer` is NULL
/// (from_structure). `shared_name` NULL: the iterator belongs to its node.
BRAID_API braid_iterator braid_iterator_from_structure(braid_graph *graph, braid_dataset like,
                                                       const char *shared_name);
/// A node that sets the iterator to the beginning of `dataset`, which has the types of the iterator's
/// and shapes within its. No collection gets it: the program runs it.
BRAID_API braid_op *braid_iterator_make_initializer(braid_graph *graph, braid_iterator iterator,
                                                    braid_dataset dataset);
/// Stores the components of the next element to `outs` [iterator.dataset.count]. A step fails with
/// OutOfRange at the end of the dataset.
BRAID_API void braid_iterator_get_next(braid_graph *graph, braid_iterator iterator, braid_out *outs);

#ifdef __cplusplus
}
#endif
#endif
