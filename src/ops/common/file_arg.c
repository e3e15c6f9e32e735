// Reads names of files and tensors.
#include "ops/common/file_arg.h"

#include "base/alloc.h"
#include <string.h>

static const char *arg_name(const bd_op_ctx *c, int input)
{
    return c->node->def->inputs[input].name; // strings precede lists of tensors
}

char *bd_input_text(bd_op_ctx *c, int input, int64_t i)
{
    const bd_string *s = &bd_tensor_str(bd_input(c, input))[i];
    if (s->len == 0) return bd_strdup("");
    if (!memchr(s->data, 0, s->len)) return bd_strndup(s->data, s->len);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input %s contains a zero byte: '%.*s'", arg_name(c, input),
               (int)(s->len < INT32_MAX ? s->len : INT32_MAX), s->data);
    return NULL;
}

bool bd_input_check_rank(bd_op_ctx *c, int input, int rank)
{
    const braid_shape *s = &bd_input(c, input)->shape;
    if (s->rank == rank) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input %s should be %s tensor, got %s instead.", arg_name(c, input),
               rank == 0 ? "a scalar" : "an 1-D", bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
    return false;
}
