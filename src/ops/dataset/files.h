// Datasets that read files: reading the inputs of their kernels, and the elements of their iterators.
#ifndef BD_OPS_DATASET_FILES_H
#define BD_OPS_DATASET_FILES_H

#include "io/compression.h"
#include "ops/dataset/dataset.h"

typedef struct bd_file_names {
    int64_t count;
    char **items; // [count], owned
} bd_file_names;

// Reads the scalar or vector of strings at input `i`. False: the kernel has failed, and `names` is empty.
bool bd_input_file_names(bd_op_ctx *c, int i, bd_file_names *names);
void bd_file_names_fini(bd_file_names *names);

// The scalar `compression_type` at input `i`. False: the kernel has failed.
bool bd_input_compression(bd_op_ctx *c, int i, bd_compression *kind);

// Answers an element of one string, or the error that memory is short.
bd_turn bd_give_bytes(bd_iterator *it, const void *data, size_t len);

#endif
