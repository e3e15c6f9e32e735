// PyFunc and PyFuncStateless, and the functions that they call.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <braid/callback.h>
#include <stdio.h>

// Output i is twice input i.
static braid_code twice(void *arg, const braid_callback_call *call, braid_status *status)
{
    (void)arg;
    for (int i = 0; i < call->output_count; i++) {
        const braid_tensor *in = call->inputs[i];
        braid_tensor *out = braid_tensor_new(BRAID_FLOAT, braid_tensor_shape(in), status);
        for (int64_t k = 0; k < braid_tensor_num_elements(in); k++)
            ((float *)braid_tensor_data(out))[k] = 2 * ((const float *)braid_tensor_data(in))[k];
        call->outputs[i] = out;
    }
    return BRAID_OK;
}

// A string: the token, and the number of inputs.
static braid_code describe(void *arg, const braid_callback_call *call, braid_status *status)
{
    (void)arg, (void)status;
    char text[40];
    snprintf(text, sizeof text, "%s/%d", call->token, call->input_count);
    call->outputs[0] = braid_tensor_string(text);
    return BRAID_OK;
}

static braid_code end(void *arg, const braid_callback_call *call, braid_status *status)
{
    (void)call;
    if (arg) braid_status_set(status, BRAID_OUT_OF_RANGE, "no more");
    return BRAID_OUT_OF_RANGE;
}

static braid_code store_nothing(void *arg, const braid_callback_call *call, braid_status *status)
{
    (void)arg, (void)call, (void)status;
    return BRAID_OK;
}

static int set_up(void **state)
{
    (void)state;
    static int with_message;
    return braid_callback_register("twice", twice, NULL, NULL, NULL) ||
           braid_callback_register("describe", describe, NULL, NULL, NULL) ||
           braid_callback_register("fail", end, &with_message, NULL, NULL) ||
           braid_callback_register("fail_without_words", end, NULL, NULL, NULL) ||
           braid_callback_register("store_nothing", store_nothing, NULL, NULL, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const tokens[] = {"twice", "describe", "fail", "fail_without_words", "store_nothing"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        braid_callback_unregister(tokens[i]);
    return 0;
}

static void values_are_those_of_the_function(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"PyFunc", "token=twice; Tout=[float]", "float[2] 1 2", "float[2] 2 4"},
        {"PyFunc", "token=twice; Tout=[float,float]", "float[] 3; float[1,2] 1 -1",
         "float[] 6; float[1,2] 2 -2"},
        {"PyFunc", "token=twice; Tout=[float]", "float[0,3]", "float[0,3]"},
        {"PyFunc", "token=describe; Tout=[string]", "int32[] 1; bool[2] true false", "string[] describe/2"},
        {"PyFunc", "token=describe; Tin=[]; Tout=[string]", "", "string[] describe/0"},
        {"PyFunc", "token=store_nothing; Tout=[]", "float[] 1", ""},
        {"PyFunc", "token=twice; Tout=[int32]", "float[] 1",
         "InvalidArgument: 0-th value returned by twice is float, but expects int32"},
        {"PyFunc", "token=store_nothing; Tout=[int32]", "float[] 1",
         "InvalidArgument: store_nothing returned no value 0 of 1"},
        {"PyFunc", "token=fail; Tout=[int32]", "float[] 1", "OutOfRange: no more"},
        {"PyFunc", "token=fail_without_words; Tout=[int32]", "float[] 1",
         "OutOfRange: fail_without_words has failed"},
        {"PyFunc", "token=none; Tout=[int32]", "float[] 1", "InvalidArgument: callback none is not found"},
        {"PyFuncStateless", "token=twice; Tout=[float]", "float[2] 1 2", "float[2] 2 4"},
        {"PyFuncStateless", "token=twice; Tout=[float]", "float[] 1", "float[] 2"},
        {"PyFuncStateless", "token=twice; Tout=[float]", "float[0]", "float[0]"},
        {"PyFuncStateless", "token=none; Tout=[int32]", "float[] 1",
         "InvalidArgument: callback none is not found"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_are_those_of_the_function, set_up, tear_down),
    };
    return BD_RUN_TESTS(tests);
}
