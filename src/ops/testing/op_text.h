// Reading the texts of op_test.h.
#ifndef BD_OPS_TESTING_OP_TEXT_H
#define BD_OPS_TESTING_OP_TEXT_H

#include "graph/graph.h"

#define OP_TEXT_MAX 32

// One input or output of a case.
typedef struct op_text {
    bool is_ref, is_var, is_any; // "ref ...", "var ...", "*"
    bool has_values;
    braid_dtype dtype; // BRAID_FLOAT when the text has no type
    braid_shape shape; // may be partly known
    char *values;      // owned
} op_text;

// Splits a text at `;` and reads the pieces; returns how many (at most OP_TEXT_MAX).
int op_text_read(const char *text, op_text out[OP_TEXT_MAX]);
void op_text_fini(op_text *texts, int count);
// The tensor a piece describes; uninitialized values are an error of the test.
void op_text_tensor(const op_text *text, braid_tensor *t);

// Splits "Code: words"; false when `want` is no error.
bool op_text_error(const char *want, const char **code, size_t *code_len, const char **words);

// Sets attributes from "name=value; name=value".
void op_text_attrs(braid_op_desc *desc, const bd_op_def *def, const char *attrs);

#endif
