// The fields of a dense table beyond those of all tables: the number of buckets, and the content as rows of
// buckets.
#ifndef BD_OPS_LOOKUP_TABLE_DENSE_H
#define BD_OPS_LOOKUP_TABLE_DENSE_H

#include "ops/lookup/table.h"

// InvalidArgument for numbers that no dense table can have.
braid_code bd_dense_check(int64_t buckets, double max_load, braid_status *st);

// Doubles `buckets` until that number of rows fits.
int64_t bd_dense_buckets_for(int64_t buckets, double max_load, int64_t rows);
// How many buckets a table has after an import of `buckets` of them with `rows` keys.
int64_t bd_dense_buckets_of_import(double max_load, int64_t buckets, int64_t rows);

// Writes the content to `keys` [buckets, key size] and `values` [buckets, value size]. The caller has locked
// the table.
void bd_dense_lay_out(const bd_table *t, const braid_tensor *keys, const braid_tensor *values);

#endif
