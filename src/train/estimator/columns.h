// Feature columns while a model is built.
#ifndef BD_TRAIN_COLUMNS_H
#define BD_TRAIN_COLUMNS_H

#include "base/status.h"
#include <braid/feature_column.h>
#include <braid/ops.h>

// The features that columns are built from.
typedef struct train_features_list {
    braid_graph *graph;
    const braid_named_tensor *items; // [count]
    int count;
} train_features_list;

// Lists of ids, one for each example.
typedef struct train_ids {
    braid_sparse ids;  // values int64
    braid_out weights; // [n] float, one for each id; op NULL: 1
    int64_t buckets;   // ids are below
} train_ids;

// Makes the graph fail for a feature that is missing; NULL then.
const braid_named_tensor *train_feature_of(const train_features_list *f, const char *key);

// The ids of a categorical column. The graph fails for another column; values without op then.
train_ids train_column_ids(const train_features_list *f, const braid_feature_column *c);
// The places of strings or int64s in a vocabulary, int64; -1 for those that it does not have.
braid_out train_vocabulary_places(braid_graph *g, const braid_tensor *vocabulary, braid_out values);
// The name of the table of a shared embedding (bd_free).
char *train_shared_table_name(const braid_feature_column *c);
// Whether a column gives ids.
bool train_column_is_categorical(const braid_feature_column *c);

// The numbers of a numeric column, [batch, size] float.
braid_out train_numeric_values(const train_features_list *f, const braid_feature_column *c);
// The buckets of a bucketized column's numbers, [batch, size] int32.
braid_out train_column_buckets(const train_features_list *f, const braid_feature_column *c);

// The combination of the rows of `table` [buckets, size], which may be in parts of rows, that the ids name,
// [batch, size]; zeros for an example without ids. Ids below 0 are left out, and, unless rows are summed,
// those whose weight is not positive.
braid_out train_lookup_ids(braid_graph *g, const train_ids *ids, const braid_variable *table,
                           braid_combiner combiner);

#endif
