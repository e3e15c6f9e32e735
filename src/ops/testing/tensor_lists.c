// Makes and reads lists of tensors for tests.
#include "ops/testing/tensor_lists.h"

// ---- Making lists ----

braid_out list_empty(program *p, const char *shape, const char *max)
{
    return OUT(p, "EmptyTensorList", FLOATS, program_feed(p, shape), program_feed(p, max));
}

braid_out list_reserve(program *p, const char *shape, const char *count)
{
    return OUT(p, "TensorListReserve", FLOATS, program_feed(p, shape), program_feed(p, count));
}

braid_out list_from_tensor(program *p, const char *t, const char *shape)
{
    return OUT(p, "TensorListFromTensor", NULL, program_feed(p, t), program_feed(p, shape));
}

braid_out list_push(program *p, braid_out list, const char *t)
{
    return OUT(p, "TensorListPushBack", NULL, list, program_feed(p, t));
}

braid_out list_set(program *p, braid_out list, const char *index, const char *t)
{
    return OUT(p, "TensorListSetItem", NULL, list, program_feed(p, index), program_feed(p, t));
}

braid_out list_resize(program *p, braid_out list, const char *size)
{
    return OUT(p, "TensorListResize", NULL, list, program_feed(p, size));
}

braid_out list_split(program *p, const char *t, const char *shape, const char *lengths)
{
    return OUT(p, "TensorListSplit", NULL, program_feed(p, t), program_feed(p, shape),
               program_feed(p, lengths));
}

braid_out list_scatter(program *p, const char *t, const char *indices, const char *shape, const char *count)
{
    return OUT(p, "TensorListScatterV2", NULL, program_feed(p, t), program_feed(p, indices),
               program_feed(p, shape), program_feed(p, count));
}

// ---- Reading them: each ends the program ----

void list_expect(program *p, braid_out out, const char *want)
{
    program_expect(p, &out, 1, want);
}

void list_expect_stack(program *p, braid_out list, const char *shape, const char *want)
{
    list_expect(p, OUT(p, "TensorListStack", FLOATS, list, program_feed(p, shape)), want);
}

void list_expect_get(program *p, braid_out list, const char *index, const char *shape, const char *want)
{
    list_expect(p, OUT(p, "TensorListGetItem", FLOATS, list, program_feed(p, index), program_feed(p, shape)),
                want);
}

void list_expect_gather(program *p, braid_out list, const char *indices, const char *shape, const char *want)
{
    list_expect(p, OUT(p, "TensorListGather", FLOATS, list, program_feed(p, indices), program_feed(p, shape)),
                want);
}

void list_expect_pop(program *p, braid_out list, const char *shape, int output, const char *want)
{
    braid_op *pop = NODE(p, "TensorListPopBack", FLOATS, list, program_feed(p, shape));
    if (output == 1)
        list_expect(p, (braid_out){pop, 1}, want);
    else
        list_expect_stack(p, (braid_out){pop, 0}, "int32[] -1", want);
}

void list_expect_concat(program *p, braid_out list, const char *shape, const char *dims, int output,
                        const char *want)
{
    braid_op *op = NODE(p, "TensorListConcatV2", FLOATS, list, program_feed(p, shape), program_feed(p, dims));
    list_expect(p, (braid_out){op, output}, want);
}
