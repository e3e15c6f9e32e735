// Declarations shared by the files about functions.
#ifndef BD_GRAPH_FUNCTION_INTERNAL_H
#define BD_GRAPH_FUNCTION_INTERNAL_H

#include "base/wire.h"
#include "graph/function.h"

// Parses a FunctionDef message: count 1. InvalidArgument names the function.
braid_code bd_function_parse(const bd_bytes *message, bd_function **out, braid_status *st);
// bd_function_instantiate of `f`, which need not be in the library.
braid_code bd_function_instantiate_as(bd_library *l, const bd_function *f, const bd_func *func,
                                      bd_function_body *out, braid_status *st);
struct bd_grad_ctx;
void bd_function_op_gradient(struct bd_grad_ctx *c); // of a node whose op is a function
bool bd_function_equal(const bd_function *a, const bd_function *b);
void bd_function_unref(bd_function *f);

// The value of an attr; NULL when absent.
const bd_attr *bd_attrs_find(const bd_named_attr *attrs, int count, const char *name);
void bd_attrs_sort(bd_named_attr *attrs, int count);

#endif
