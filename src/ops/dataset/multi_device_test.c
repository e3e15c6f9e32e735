// Tests of iterators that are sharded over several devices: the shard of an element, working ahead, waiting,
// restarting, handles.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <stdio.h>

#define RANGE(N) "RangeDataset(int64[] 0; int64[] " #N "; int64[] 1) "

// An iterator for two devices over a pipeline.
typedef struct shared {
    op_live *live;
    braid_out handle;
    braid_op *init;
} shared;

static void set_components(braid_op_desc *d)
{
    static const braid_dtype type = BRAID_INT64;
    braid_op_attr_type_list(d, "output_types", &type, 1);
    braid_op_attr_shape_list(d, "output_shapes", &BD_SHAPE_UNKNOWN, 1);
}

static braid_op *maker(op_live *l, const char *op)
{
    static const char *const devices[] = {"/cpu:0", "/cpu:1"};
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_attr_string_list(d, "devices", devices, 2);
    if (strcmp(op, "MultiDeviceIterator") == 0) {
        braid_op_attr_string(d, "shared_name", "");
        braid_op_attr_string(d, "container", "");
    }
    set_components(d);
    return braid_op_end_out(d).op;
}

static braid_op *init_node(op_live *l, const char *text, braid_out handle, const char *max_buffer_size)
{
    braid_out dataset = pipeline_make(l, text, "int64");
    braid_op_desc *d = braid_op_begin(l->graph, "MultiDeviceIteratorInit", NULL);
    braid_op_input(d, dataset);
    braid_op_input(d, handle);
    braid_op_input(d, op_live_const(l, max_buffer_size));
    return braid_op_end_out(d).op;
}

static shared open_shared(const char *text, const char *max_buffer_size)
{
    shared s = {.live = op_live_new()};
    s.handle = (braid_out){.op = maker(s.live, "MultiDeviceIterator")};
    s.init = init_node(s.live, text, s.handle, max_buffer_size);
    return s;
}

static braid_op *next_of(op_live *l, braid_out handle, int shard, int incarnation)
{
    char text[32];
    braid_op_desc *d = braid_op_begin(l->graph, "MultiDeviceIteratorGetNextFromShard", NULL);
    braid_op_input(d, handle);
    snprintf(text, sizeof text, "int32[] %d", shard);
    braid_op_input(d, op_live_const(l, text));
    snprintf(text, sizeof text, "int64[] %d", incarnation);
    braid_op_input(d, op_live_const(l, text));
    set_components(d);
    return braid_op_end_out(d).op;
}

// Takes one element of a shard, in the first pass.
static void expect(const shared *s, int shard, const char *want)
{
    op_live_run(s->live, next_of(s->live, s->handle, shard, 1), "", want);
}

static void elements_go_to_the_devices_in_turn(void **state)
{
    (void)state;
    static const char *const sizes[] = {"int64[] 1", "int64[] 3", "int64[] 100"};
    for (size_t i = 0; i < BD_COUNTOF(sizes); i++) {
        shared s = open_shared(RANGE(5), sizes[i]);
        op_live_run(s.live, s.init, "", "int64[] 1");
        expect(&s, 0, "int64[] 0");
        expect(&s, 1, "int64[] 1");
        expect(&s, 1, "int64[] 3");
        expect(&s, 0, "int64[] 2");
        expect(&s, 0, "int64[] 4");
        expect(&s, 1, "OutOfRange: End of sequence");
        expect(&s, 0, "OutOfRange: End of sequence");
        op_live_free(s.live);
    }
}

static void errors_have_turns(void **state)
{
    (void)state;
    shared s = open_shared(RANGE(3) "RebatchDataset(int64[] 1)", "int64[] 1");
    op_live_run(s.live, s.init, "", "int64[] 1");
    expect(&s, 0, "InvalidArgument: Cannot rebatch dataset");
    expect(&s, 1, "InvalidArgument: Cannot rebatch dataset");
    expect(&s, 0, "InvalidArgument: Cannot rebatch dataset");
    expect(&s, 1, "OutOfRange: End of sequence");
    op_live_free(s.live);
}

static void the_iterator_must_be_initialized(void **state)
{
    (void)state;
    shared s = open_shared(RANGE(4), "int64[] 1");
    expect(&s, 0, "FailedPrecondition: has not been initialized");
    op_live_run(s.live, s.init, "", "int64[] 1");
    expect(&s, 2, "InvalidArgument: shard_num is 2, but the iterator is for 2 devices");
    expect(&s, -1, "InvalidArgument: shard_num is -1");
    expect(&s, 0, "int64[] 0");
    op_live_run(s.live, s.init, "", "int64[] 2"); // from the beginning
    expect(&s, 0, "InvalidArgument: Invalid incarnation id. Provided: 1; Expected: 2");
    op_live_run(s.live, next_of(s.live, s.handle, 0, 2), "", "int64[] 0");
    op_live_run(s.live, init_node(s.live, "TensorDataset(float[] 1)", s.handle, "int64[] 1"), "",
                "InvalidArgument: Data type mismatch at component 0: expected int64 but got float.");
    op_live_run(s.live, init_node(s.live, RANGE(1), s.handle, "int64[1] 1"), "",
                "InvalidArgument: max_buffer_size");
    op_live_free(s.live);
}

// A shard has to wait for another one that holds its maximum of elements; with a maximum of none, all wait
// for each other.
static void a_shard_waits_for_its_turn(void **state)
{
    (void)state;
    static const char *const sizes[] = {"int64[] 1", "int64[] 0", "int64[] -1"};
    for (size_t i = 0; i < BD_COUNTOF(sizes); i++) {
        shared s = open_shared(RANGE(6), sizes[i]);
        op_live_run(s.live, s.init, "", "int64[] 1");
        op_execution *one = op_live_start(s.live, next_of(s.live, s.handle, 1, 1), ""),
                     *three = op_live_start(s.live, next_of(s.live, s.handle, 1, 1), ""),
                     *none = op_live_start(s.live, next_of(s.live, s.handle, 1, 1), "");
        assert_false(op_execution_has_ended(three));
        op_execution_cancel(none);
        op_execution_expect(none, "Cancelled: GetNextFromShard operation was cancelled");
        expect(&s, 0, "int64[] 0");
        op_execution_expect(one, "int64[] 1");
        expect(&s, 0, "int64[] 2");
        op_execution_expect(three, "int64[] 3");
        expect(&s, 0, "int64[] 4");
        expect(&s, 1, "int64[] 5"); // the cancelled execution took no element
        op_live_free(s.live);
    }
}

static void beginning_anew_cancels(void **state)
{
    (void)state;
    shared s = open_shared(RANGE(6), "int64[] 1");
    op_live_run(s.live, s.init, "", "int64[] 1");
    expect(&s, 1, "int64[] 1");
    op_execution *three = op_live_start(s.live, next_of(s.live, s.handle, 1, 1), "");
    assert_false(op_execution_has_ended(three));
    op_live_run(s.live, s.init, "", "int64[] 2");
    op_execution_expect(three, "Cancelled: Cancelled Multidevice iterator");
    op_live_free(s.live);
}

static void a_string_handle_names_its_iterator(void **state)
{
    (void)state;
    shared s = open_shared(RANGE(2), "int64[] 1");
    op_live_run(s.live, s.init, "", "int64[] 1");
    braid_op_desc *d = braid_op_begin(s.live->graph, "MultiDeviceIteratorToStringHandle", NULL);
    braid_op_input(d, s.handle);
    braid_out text = braid_op_end_out(d);
    d = braid_op_begin(s.live->graph, "MultiDeviceIteratorFromStringHandle", NULL);
    braid_op_input(d, text);
    set_components(d);
    braid_out same = braid_op_end_out(d);
    op_live_run(s.live, next_of(s.live, same, 1, 1), "", "int64[] 1");
    d = braid_op_begin(s.live->graph, "IteratorFromStringHandle", NULL);
    braid_op_input(d, text);
    op_live_run(s.live, braid_op_end_out(d).op, "", "InvalidArgument: MultiDeviceIterator");
    op_live_free(s.live);
}

static void anonymous_iterators_end_with_their_deleter(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *made = maker(l, "AnonymousMultiDeviceIterator");
    braid_op_desc *d = braid_op_begin(l->graph, "DeleteMultiDeviceIterator", NULL);
    braid_op_input(d, (braid_out){.op = made});
    braid_op_input_list(d, NULL, 0);
    braid_op_input(d, (braid_out){.op = made, .index = 1});
    op_live_run(l, braid_op_end_out(d).op, "", "");
    // The deleter has been freed when these run: it was an output of a node that has ended.
    op_live_run(l, next_of(l, (braid_out){.op = made}, 0, 1), "", "Cancelled: it was deleted");
    op_live_run(l, next_of(l, (braid_out){.op = maker(l, "AnonymousMultiDeviceIteratorV3")}, 0, 1), "",
                "FailedPrecondition: has not been initialized");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_go_to_the_devices_in_turn),
        cmocka_unit_test(errors_have_turns),
        cmocka_unit_test(the_iterator_must_be_initialized),
        cmocka_unit_test(a_shard_waits_for_its_turn),
        cmocka_unit_test(beginning_anew_cancels),
        cmocka_unit_test(a_string_handle_names_its_iterator),
        cmocka_unit_test(anonymous_iterators_end_with_their_deleter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
