// Pipelines of datasets for tests, written as text, and their elements.
#ifndef BD_OPS_TESTING_PIPELINE_H
#define BD_OPS_TESTING_PIPELINE_H

#include "ops/testing/op_live.h"

// "RangeDataset(int64[] 0; int64[] 9; int64[] 1) BatchDataset(int64[] 2)": one op after another, with its
// inputs as op_live_const writes tensors, and `string[] ""`. An op takes as many datasets as it has inputs
// for, from the end of those made before (a ZipDataset all of them). Attrs are in braces after the op's name:
// "ShardDataset{require_non_empty=true}(int64[] 2; int64[] 0)". `types` are those of an element:
// "int64,string".
braid_out pipeline_make(op_live *l, const char *text, const char *types);

// op_live_const, and `string[] ""`.
braid_out pipeline_const(op_live *l, const char *text);

// A pipeline with an iterator, and nodes to use it.
typedef struct pipeline {
    op_live *live;
    braid_op *make, *next, *next_optional;
} pipeline;

pipeline pipeline_open(op_live *l, const char *text, const char *types);
pipeline pipeline_over(op_live *l, braid_out dataset, const char *types);
// Takes elements until `want` is through: "int64[] 1 | InvalidArgument: words | end". Without "end" more may
// follow.
void pipeline_expect(const pipeline *p, const char *want);

typedef struct pipeline_case {
    const char *text, *types, *want;
    int64_t cardinality; // 0 means "unknown" unless `want` begins with "end"; see PIPELINE_INFINITE
} pipeline_case;
#define PIPELINE_INFINITE (-1)
// Each case twice: the iterator is set to the beginning again. With threads for the disk, and without.
void pipeline_test(const pipeline_case *cases, size_t count);
#define PIPELINE_TEST(cases) pipeline_test(cases, sizeof(cases) / sizeof((cases)[0]))

#endif
