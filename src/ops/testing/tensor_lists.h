// Lists of tensors for tests: how they are made and read.
#ifndef BD_OPS_TESTING_TENSOR_LISTS_H
#define BD_OPS_TESTING_TENSOR_LISTS_H

#include "ops/testing/program.h"

#define NODE PROGRAM_NODE
#define OUT PROGRAM_OUT
#define FLOATS "element_dtype=float"

// Making lists of floats, but from tensors of any type. Tensors, shapes and numbers are written as op_test.h
// writes them.
braid_out list_empty(program *p, const char *shape, const char *max);
braid_out list_reserve(program *p, const char *shape, const char *count);
braid_out list_from_tensor(program *p, const char *t, const char *shape);
braid_out list_push(program *p, braid_out list, const char *t);
braid_out list_set(program *p, braid_out list, const char *index, const char *t);
braid_out list_resize(program *p, braid_out list, const char *size);
braid_out list_split(program *p, const char *t, const char *shape, const char *lengths);
braid_out list_scatter(program *p, const char *t, const char *indices, const char *shape, const char *count);

// Reading them: each ends the program.
void list_expect(program *p, braid_out out, const char *want);
void list_expect_stack(program *p, braid_out list, const char *shape, const char *want);
void list_expect_get(program *p, braid_out list, const char *index, const char *shape, const char *want);
void list_expect_gather(program *p, braid_out list, const char *indices, const char *shape, const char *want);
void list_expect_pop(program *p, braid_out list, const char *shape, int output, const char *want);
void list_expect_concat(program *p, braid_out list, const char *shape, const char *dims, int output,
                        const char *want);

#endif
