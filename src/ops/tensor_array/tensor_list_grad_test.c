// Gradients of ops on lists of tensors, worked out by hand.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/tensor_lists.h"

static braid_out weighted(program *p, braid_out y, const char *weights)
{
    return OUT(p, "Mul", NULL, y, program_feed(p, weights));
}

static void expect_gradient(program *p, braid_out y, braid_out x, const char *want)
{
    BD_STATUS(st);
    braid_out grad;
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    if (braid_graph_status(p->g, st)) fail_msg("%s", braid_status_message(st));
    assert_non_null(grad.op);
    list_expect(p, grad, want);
}

static void gradient_of_pushes(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[] 3"), any = program_feed(p, "int32[] -1");
    braid_out list = OUT(p, "TensorListPushBack", NULL, list_empty(p, "int32[0]", "int32[] -1"), x);
    braid_op *pop = NODE(p, "TensorListPopBack", FLOATS, list, any);
    expect_gradient(p, weighted(p, (braid_out){pop, 1}, "float[] 5"), x, "float[] 5");

    p = program_new();
    x = program_feed(p, "float[] 3"), any = program_feed(p, "int32[] -1");
    list = OUT(p, "TensorListPushBack", NULL, list_empty(p, "int32[0]", "int32[] -1"), x);
    list = OUT(p, "TensorListPushBack", NULL, list, OUT(p, "Square", NULL, x));
    braid_out y = OUT(p, "TensorListStack", FLOATS, list, any);
    expect_gradient(p, weighted(p, y, "float[2] 1 10"), x, "float[] 61");
}

static void gradients_of_items_are_items(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[2] 1 2"), y = program_feed(p, "float[] 3"),
              any = program_feed(p, "int32[] -1"), zero = program_feed(p, "int32[] 0"),
              one = program_feed(p, "int32[] 1");
    braid_out list = OUT(p, "TensorListFromTensor", NULL, x, program_feed(p, "int32[0]"));
    list = OUT(p, "TensorListSetItem", NULL, list, zero, y);
    braid_out e = OUT(p, "TensorListGetItem", FLOATS, list, zero, any);
    braid_out f = OUT(p, "TensorListGetItem", FLOATS, list, one, any);
    braid_out sum = OUT(p, "Add", NULL, OUT(p, "Square", NULL, e), OUT(p, "Square", NULL, f));
    braid_out grads[2];
    braid_gradients(p->g, &sum, 1, (braid_out[]){x, y}, 2, NULL, grads);
    list_expect(p, OUT(p, "Add", NULL, grads[0], grads[1]), "float[2] 6 10"); // [0, 4] and 6
}

static void gradients_of_slices_are_summed(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[2] 1 2"), any = program_feed(p, "int32[] -1");
    braid_out list = OUT(p, "TensorListScatterV2", NULL, x, program_feed(p, "int32[2] 2 0"),
                         program_feed(p, "int32[0]"), program_feed(p, "int32[] -1"));
    list = list_resize(p, list, "int32[] 4");
    braid_out y = OUT(p, "TensorListGather", FLOATS, list, program_feed(p, "int32[3] 0 2 1"), any);
    expect_gradient(p, weighted(p, y, "float[3] 1 10 100"), x, "float[2] 10 1");

    p = program_new();
    x = program_feed(p, "float[2] 1 2"), any = program_feed(p, "int32[] -1");
    list = OUT(p, "TensorListFromTensor", NULL, program_feed(p, "float[2] 5 6"), program_feed(p, "int32[0]"));
    list = OUT(p, "TensorListScatterIntoExistingList", NULL, list, x, program_feed(p, "int32[2] 1 3"));
    y = OUT(p, "TensorListStack", FLOATS, list, any);
    expect_gradient(p, weighted(p, y, "float[4] 1 10 100 1000"), x, "float[2] 10 1000");
}

static void gradients_of_split_and_concat_are_pieces(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[3] 1 2 3"), any = program_feed(p, "int32[] -1");
    braid_out list = OUT(p, "TensorListSplit", NULL, x, any, program_feed(p, "int64[2] 1 2"));
    braid_out y = OUT(p, "TensorListConcatV2", FLOATS, list, any, program_feed(p, "int64[0]"));
    expect_gradient(p, weighted(p, y, "float[3] 1 10 100"), x, "float[3] 1 10 100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_of_pushes),
        cmocka_unit_test(gradients_of_items_are_items),
        cmocka_unit_test(gradients_of_slices_are_summed),
        cmocka_unit_test(gradients_of_split_and_concat_are_pieces),
    };
    return BD_RUN_TESTS(tests);
}
