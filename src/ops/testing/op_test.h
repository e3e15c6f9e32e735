// A harness for tests of ops: tables of values, shapes, errors and gradients, run without the executor.
//
// Tensors are written as text: `float[2,3] 1 2 3 4 5 6`, `int32[] 7`, `bool[2] true false`, `string[2] a bc`,
// `float[0,3]`. One value for several elements fills them all. `inf`, `-inf` and `nan` are numbers; `nan`
// equals `nan`. Elements of half and bfloat16 are their bits: `half[1] 0x3c00`; those of complex types
// `complex64[3] 1-2j 3 0.5j`. Variants have no text, and are empty: `variant[2]`. Several tensors are
// separated by `;`. In strings, also of attributes, `\xHH` is a byte: a blank, a semicolon.
#ifndef BD_OPS_TESTING_OP_TEST_H
#define BD_OPS_TESTING_OP_TEST_H

#include "graph/graph.h"
#include "op/kernel.h"

// Rows of the tables leave out the last members.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// A case: the inputs of an op and its expected outputs.
typedef struct op_case {
    const char *op;
    // "transpose_a=true; T=float; ksize=[1,2,2,1]; shapes=[[2],[]]; keys=[a,b]"; NULL: no attrs. Types follow
    // from the inputs.
    const char *attrs;
    // "ref float[2] 1 2" is a variable of that content, "ref float[2]" one that is uninitialized, "ref
    // float[0] empty" one that was assigned no elements; "var ..." the handle of a resource variable.
    const char *inputs;
    const char *want;  // the outputs, "*" for any; or the error: "InvalidArgument: words of the message"
    const char *after; // the expected content of the variables among the inputs afterwards; NULL: not checked
    // Relative; 0: 4e-6 for float, 1e-13 for double; numbers below 1 are compared as if they were 1.
    double tolerance;
} op_case;
// Runs each case several times: with inputs that have other holders, and with inputs that may be overwritten.
// When the op succeeds, the inferred shapes must agree with the outputs.
void op_test_values(const op_case *cases, size_t count);

// A case of inferred output shapes.
typedef struct op_shape_case {
    const char *op;
    const char *attrs;
    // "[2,?]; ?": float; "int32[2]": another type; "int32[2] 0 1": a constant; "ref float[2]", "var
    // float[2]": a variable
    const char *inputs;
    const char *want; // "[2,?]; []", or the error as above
} op_shape_case;
void op_test_shapes(const op_shape_case *cases, size_t count);

// Gradients against finite differences in double. Only double and complex128 inputs are differentiated.
typedef struct op_grad_case {
    const char *op;
    const char *attrs;
    const char *inputs;
    const char *no_gradient; // numbers of the inputs (of these types) that must have no gradient: "1"; NULL
    int output;              // which output is differentiated; 0: the first of these types
    // Not with unknown shapes: then the gradient has conditionals, which these tests cannot run.
    bool known_shapes_only;
} op_grad_case;
void op_test_gradients(const op_grad_case *cases, size_t count);

#define OP_TEST_VALUES(cases) op_test_values(cases, sizeof(cases) / sizeof((cases)[0]))
#define OP_TEST_SHAPES(cases) op_test_shapes(cases, sizeof(cases) / sizeof((cases)[0]))
#define OP_TEST_GRADIENTS(cases) op_test_gradients(cases, sizeof(cases) / sizeof((cases)[0]))

// ---- The parts, for tests that need more ----

// Reads a tensor; a mistake in the text fails the test. The caller ends it with bd_tensor_fini.
void op_test_tensor(braid_tensor *t, const char *text);
// Fails the test unless `got` equals `want`.
void op_test_expect(const braid_tensor *got, const char *want, double tolerance, const char *where);

// A node of a graph with the value it has from the start (a fed placeholder, a bound variable).
typedef struct op_binding {
    braid_op *op;
    bd_value value; // the evaluation takes references, the caller ends it
} op_binding;
// Evaluates `outs` node after node, without control flow; stores tensors (the caller ends them) to `values`.
braid_code op_test_eval(const op_binding *bindings, int binding_count, const braid_out *outs, int count,
                        braid_tensor *values, braid_status *st);

// Adds a node of type `op` with attributes as text; inputs fill the op's arguments, lists included.
braid_op *op_test_node(braid_graph *g, const char *op, const char *attrs, const braid_out *inputs, int count);

#endif
