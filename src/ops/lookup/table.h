// Tables from keys to values: HashTable, which is initialized once, and the mutable ones.
//
// Keys and values are rows of two tensors: row i of one belongs to row i of the other. An index finds the row
// by the bytes of the key (of a string: its characters). Removing a row moves the last one to its place.
#ifndef BD_OPS_LOOKUP_TABLE_H
#define BD_OPS_LOOKUP_TABLE_H

#include "base/map.h"
#include "base/thread.h"
#include "op/resource.h"
#include "tensor/tensor.h"

extern const bd_resource_type bd_table_type;

// The attributes of a table's node.
typedef struct bd_table_options {
    const char *name;
    bool is_mutable; // otherwise it is initialized once
    braid_dtype key_dtype, value_dtype;
    braid_shape key_shape, value_shape; // of one of them
    // Of a dense table: keys that it cannot hold; "no tensor" in other tables. Owned.
    braid_tensor empty_key, deleted_key;
    int64_t buckets; // of a new dense table
    double max_load; // of its buckets
} bd_table_options;

typedef struct bd_table {
    bd_resource base;
    bd_table_options options; // name and tensors are owned
    bd_mutex mu;
    bool is_initialized;       // guarded by mu, as all below
    braid_tensor keys, values; // [capacity] rows
    int64_t count, capacity;   // rows
    int64_t buckets;           // of a dense table: how many rows it exports
    bd_map index;              // row + 1
} bd_table;

// Copies the options; the tensors are taken over.
bd_table *bd_table_new(bd_table_options *options);

// InvalidArgument when a table that exists was made with other options.
braid_code bd_table_check_options(const bd_table *t, const bd_table_options *options, braid_status *st);

// Elements of one key and one value.
int64_t bd_table_key_size(const bd_table *t);
int64_t bd_table_value_size(const bd_table *t);

bool bd_table_is_dense(const bd_table *t);
// Whether elements i of `a` and j of `b` are equal.
bool bd_table_same_element(const braid_tensor *a, int64_t i, const braid_tensor *b, int64_t j);

// `keys` holds `count` keys of the table's type and shape one after the other, `values` as many values. A
// function that fails may have changed the first keys.

// Row k of `values` becomes the value of key k, or `default_value`. FailedPrecondition when the table is not
// initialized.
braid_code bd_table_find(bd_table *t, const braid_tensor *keys, int64_t count,
                         const braid_tensor *default_value, const braid_tensor *values, braid_status *st);
// Of a mutable table. InvalidArgument for a key that a dense table cannot hold.
braid_code bd_table_insert(bd_table *t, const braid_tensor *keys, const braid_tensor *values, int64_t count,
                           braid_status *st);
// Replaces the content of a mutable table. The rows of a dense table are its buckets, including empty ones.
braid_code bd_table_import(bd_table *t, const braid_tensor *keys, const braid_tensor *values, int64_t count,
                           braid_status *st);
// Of a mutable table; keys that are not there do no harm.
braid_code bd_table_remove(bd_table *t, const braid_tensor *keys, int64_t count, braid_status *st);
// For immutable tables. FailedPrecondition when a key has several values, or when the table is initialized
// already with another number of keys.
braid_code bd_table_initialize(bd_table *t, const braid_tensor *keys, const braid_tensor *values,
                               int64_t count, braid_status *st);
bool bd_table_is_initialized(bd_table *t);

#endif
