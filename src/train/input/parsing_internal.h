// Features of Examples in the order in which TensorFlow's ops take them, for the files of this module.
#ifndef BD_TRAIN_PARSING_INTERNAL_H
#define BD_TRAIN_PARSING_INTERNAL_H

#include <braid/parsing.h>

// Features sorted by name: the first `dense_count` of `order` are dense, the others sparse.
typedef struct train_features {
    const braid_feature *items; // not owned
    int *order;                 // [count], owned
    int count, dense_count;
} train_features;

// False, and the graph fails, for features that cannot be; then nothing is to be released.
bool train_features_init(train_features *f, braid_graph *g, const braid_feature *features, int count);
void train_features_fini(train_features *f);

// The default of a dense feature, [0] when it has none.
braid_out train_feature_default(braid_graph *g, const braid_feature *feature);

#endif
