// Shared by the runners of op_test.h.
#ifndef BD_OPS_TESTING_OP_CASE_H
#define BD_OPS_TESTING_OP_CASE_H

#include "ops/testing/op_text.h"

// A placeholder (or variable) for an input of a case, with its shape or without.
braid_out op_case_input(braid_graph *g, const op_text *text, bool with_shape);
// Fails the test unless `got` equals the tensor of the text.
void op_case_expect(const braid_tensor *got, const op_text *want, double tolerance, const char *where);
// Fails the test unless `st` is the error that `want` asks for.
void op_case_expect_error(const braid_status *st, const char *want, const char *where);

#endif
