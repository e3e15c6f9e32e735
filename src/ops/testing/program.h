// Small graphs over fed tensors, evaluated once: for tests of ops that only work together, such as those of
// arrays and lists.
#ifndef BD_OPS_TESTING_PROGRAM_H
#define BD_OPS_TESTING_PROGRAM_H

#include "ops/testing/op_test.h"

typedef struct program {
    braid_graph *g;
    op_binding bindings[24];
    int count;
} program;

program *program_new(void);

// A placeholder with that value.
braid_out program_feed(program *p, const char *text);

#define PROGRAM_NODE(P, OP, ATTRS, ...)                                                                      \
    op_test_node((P)->g, OP, ATTRS, (braid_out[]){__VA_ARGS__},                                              \
                 sizeof((braid_out[]){__VA_ARGS__}) / sizeof(braid_out))
#define PROGRAM_OUT(P, OP, ATTRS, ...) ((braid_out){PROGRAM_NODE(P, OP, ATTRS, __VA_ARGS__), 0})

// Evaluates `outs` in order, each node once; the last one must equal `want`, a tensor or an error. Frees the
// program.
void program_expect(program *p, const braid_out *outs, int count, const char *want);

#endif
