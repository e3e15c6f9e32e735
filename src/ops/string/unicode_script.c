// UnicodeScript: the writing system of characters.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <unicode/uscript.h>

static void script_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output_forward(c, 0, 0, BRAID_INT32, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        UErrorCode error = U_ZERO_ERROR;
        const UScriptCode script = uscript_getScript(bd_tensor_i32(x)[i], &error);
        bd_tensor_i32(y)[i] = U_SUCCESS(error) ? (int32_t)script : USCRIPT_INVALID_CODE;
    }
}

BD_OP(UnicodeScript) = {
    .signature = "(input: int32) -> (output: int32)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = script_run}),
    .doc =
        "The number (ICU's UScriptCode) of the script that each code point belongs to; -1 for an invalid code point.",
};
