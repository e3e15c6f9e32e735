// Tests of Send, Recv, Arg and Retval. The rendezvous belongs to the test and has one slot.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "op/rendezvous.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"

// Keeps the last thing sent, and answers a receive with it at once.
typedef struct slot {
    bd_rendezvous base;
    char *key;
    braid_tensor tensor;
    bool is_dead;
    braid_code fails; // a receive's error
} slot;

static braid_code slot_send(bd_rendezvous *r, const bd_rendezvous_key *key, const braid_tensor *tensor,
                            bool is_dead, braid_status *st)
{
    slot *s = BD_CONTAINER_OF(r, slot, base);
    if (s->fails) return bd_fail(st, s->fails, "the step was aborted");
    bd_free(s->key);
    s->key = bd_strdup(key->text);
    bd_tensor_fini(&s->tensor);
    if (!is_dead) bd_tensor_ref(&s->tensor, tensor);
    s->is_dead = is_dead;
    return BRAID_OK;
}

static void slot_recv(bd_rendezvous *r, const bd_rendezvous_key *key, bd_recv_fn fn, void *arg)
{
    slot *s = BD_CONTAINER_OF(r, slot, base);
    BD_STATUS(st);
    if (s->fails) {
        bd_fail(st, s->fails, "the step was aborted");
    } else {
        assert_string_equal(s->key, key->text);
    }
    fn(arg, &s->tensor, s->is_dead, st);
}

static const bd_rendezvous_ops slot_ops = {.send = slot_send, .recv = slot_recv};

typedef struct world {
    braid_graph *graph;
    slot slot;
    bd_step step;
    braid_out x;
} world;

static void open_world(world *w)
{
    *w = (world){.graph = braid_graph_new(), .slot.base = {.ops = &slot_ops, .refs = 1}};
    op_step_init(&w->step);
    w->step.rendezvous = &w->slot.base;
    braid_op_desc *d = braid_op_begin(w->graph, "Placeholder", "x");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    w->x = braid_op_end_out(d);
}

static void close_world(world *w)
{
    op_step_fini(&w->step);
    bd_free(w->slot.key);
    bd_tensor_fini(&w->slot.tensor);
    braid_graph_free(w->graph);
}

// Begins a node whose name differs from its op's: names do not begin with '_'.
static braid_op_desc *begin(world *w, const char *op)
{
    braid_op_desc *d = braid_op_begin(w->graph, op, "node");
    if (strstr(op, "Send") || strstr(op, "Retval")) braid_op_input(d, w->x);
    return d;
}

static braid_op_desc *begin_edge(world *w, const char *op)
{
    braid_op_desc *d = begin(w, op);
    braid_op_attr_string(d, "tensor_name", "edge_3_x");
    braid_op_attr_string(d, "send_device", "/job:a/replica:0/task:0/device:CPU:0");
    braid_op_attr_int(d, "send_device_incarnation", 0x123456789abcdeef);
    braid_op_attr_string(d, "recv_device", "/job:b/replica:0/task:1/device:CPU:0");
    return d;
}

static braid_op *send_node(world *w, const char *op, bool client_terminated)
{
    braid_op_desc *d = begin_edge(w, op);
    braid_op_attr_bool(d, "client_terminated", client_terminated);
    return braid_op_end(d);
}

static braid_op *recv_node(world *w, const char *op, braid_dtype dtype)
{
    braid_op_desc *d = begin_edge(w, op);
    braid_op_attr_type(d, "tensor_type", dtype);
    return braid_op_end(d);
}

static braid_op *frame_node(world *w, const char *op, braid_dtype dtype, int64_t index)
{
    braid_op_desc *d = begin(w, op);
    braid_op_attr_type(d, "T", dtype);
    braid_op_attr_int(d, "index", index);
    return braid_op_end(d);
}

// Runs a kernel with the fields of its context that the executor sets.
static braid_code run(world *w, braid_op *node, bd_op_ctx *c, bd_value *input, bd_value *output,
                      braid_status *st)
{
    braid_graph_status(w->graph, st);
    assert_ok(st);
    const bd_kernel *kernel;
    bd_kernel_find(node, "CPU", &kernel, st);
    assert_ok(st);
    c->node = node;
    c->state = bd_calloc(1, kernel->state_size);
    c->inputs = input;
    c->input_count = node->input_count;
    c->outputs = output;
    c->output_count = node->output_count;
    c->step = &w->step;
    kernel->create(node, c->state, st);
    assert_ok(st);
    if (kernel->run)
        kernel->run(c);
    else
        kernel->start(c);
    if (kernel->destroy) kernel->destroy(c->state);
    bd_free(c->state);
    bd_status_move(st, &c->status);
    return st->code;
}

static void count_done(bd_op_ctx *c)
{
    c->iteration += 1000; // a mark that the test looks for: it was called once
}

#define DONE_ONCE(c) assert_int_equal((c).iteration / 1000, 1)

static void a_tensor_goes_across(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    bd_value in = {0}, out = {0};
    op_test_tensor(&in.tensor, "float[2] 1 2");
    run(&w, send_node(&w, "_Send", false), &(bd_op_ctx){0}, &in, NULL, st);
    assert_ok(st);
    assert_string_equal(w.slot.key, "/job:a/replica:0/task:0/device:CPU:0;123456789abcdeef;"
                                    "/job:b/replica:0/task:1/device:CPU:0;edge_3_x;0:0");
    bd_op_ctx c = {.done = count_done};
    run(&w, recv_node(&w, "_Recv", BRAID_FLOAT), &c, NULL, &out, st);
    assert_ok(st);
    DONE_ONCE(c);
    assert_false(c.is_output_dead);
    assert_ptr_equal(out.tensor.data, in.tensor.data); // no copy was made
    bd_value_fini(&in);
    bd_value_fini(&out);
    close_world(&w);
}

static void deadness_goes_across(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    bd_value in = {0}, out = {0};
    run(&w, send_node(&w, "_HostSend", false), &(bd_op_ctx){.is_input_dead = true}, &in, NULL, st);
    assert_ok(st);
    assert_true(w.slot.is_dead);
    bd_op_ctx c = {.done = count_done};
    run(&w, recv_node(&w, "_HostRecv", BRAID_FLOAT), &c, NULL, &out, st);
    assert_ok(st);
    DONE_ONCE(c);
    assert_true(c.is_output_dead);
    assert_false(bd_tensor_is_set(&out.tensor));
    close_world(&w);
}

static void frame_and_iteration_are_part_of_the_key(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    bd_value in = {0}, out = {0};
    op_test_tensor(&in.tensor, "float[] 1");
    run(&w, send_node(&w, "_Send", false), &(bd_op_ctx){.frame_id = 17, .iteration = 4}, &in, NULL, st);
    assert_ok(st);
    assert_non_null(strstr(w.slot.key, ";edge_3_x;17:4"));
    bd_op_ctx c = {.frame_id = 17, .iteration = 4, .done = count_done};
    run(&w, recv_node(&w, "_Recv", BRAID_FLOAT), &c, NULL, &out, st);
    assert_ok(st);
    bd_value_fini(&in);
    bd_value_fini(&out);
    close_world(&w);
}

static void a_variable_is_copied_for_a_client_only(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    bd_value in = {0};
    op_test_tensor(&in.tensor, "float[2] 1 2");
    in.tensor.buffer->is_variable = true;
    run(&w, send_node(&w, "_Send", false), &(bd_op_ctx){0}, &in, NULL, st);
    assert_ok(st);
    assert_ptr_equal(w.slot.tensor.data, in.tensor.data);
    run(&w, send_node(&w, "_Send", true), &(bd_op_ctx){0}, &in, NULL, st);
    assert_ok(st);
    assert_ptr_not_equal(w.slot.tensor.data, in.tensor.data);
    bd_tensor_f32(&in.tensor)[0] = 7; // a later update
    op_test_expect(&w.slot.tensor, "float[2] 1 2", 0, "what the client gets");
    bd_value_fini(&in);
    close_world(&w);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    bd_value in = {0}, out = {0};
    op_test_tensor(&in.tensor, "float[] 1");
    run(&w, send_node(&w, "_Send", false), &(bd_op_ctx){0}, &in, NULL, st);
    bd_op_ctx c = {.done = count_done};
    run(&w, recv_node(&w, "_Recv", BRAID_INT32), &c, NULL, &out, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "expects a tensor of type int32 but received float");
    DONE_ONCE(c);
    w.slot.fails = BRAID_ABORTED;
    run(&w, send_node(&w, "_Send", false), &(bd_op_ctx){0}, &in, NULL, st);
    assert_error(st, BRAID_ABORTED, "the step was aborted");
    c = (bd_op_ctx){.done = count_done};
    run(&w, recv_node(&w, "_Recv", BRAID_FLOAT), &c, NULL, &out, st);
    assert_error(st, BRAID_ABORTED, "the step was aborted");
    DONE_ONCE(c);
    w.step.rendezvous = NULL;
    c = (bd_op_ctx){.done = count_done};
    run(&w, recv_node(&w, "_Recv", BRAID_FLOAT), &c, NULL, &out, st);
    assert_error(st, BRAID_INTERNAL, "without a rendezvous");
    DONE_ONCE(c);
    bd_value_fini(&in);
    close_world(&w);
}

static void arg_and_retval_use_the_call_frame(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    braid_tensor arg, rets[2] = {{0}};
    op_test_tensor(&arg, "float[2] 1 2");
    bd_call_frame frame = {.args = &arg, .arg_count = 1, .rets = rets, .ret_count = 2};
    w.step.frame = &frame;
    bd_value v = {0};
    run(&w, frame_node(&w, "_Arg", BRAID_FLOAT, 0), &(bd_op_ctx){0}, NULL, &v, st);
    assert_ok(st);
    assert_ptr_equal(v.tensor.data, arg.data);
    run(&w, frame_node(&w, "_Retval", BRAID_FLOAT, 1), &(bd_op_ctx){0}, &v, NULL, st);
    assert_ok(st);
    assert_false(bd_tensor_is_set(&rets[0]));
    assert_ptr_equal(rets[1].data, arg.data);
    arg.buffer->is_variable = true;
    run(&w, frame_node(&w, "_Retval", BRAID_FLOAT, 0), &(bd_op_ctx){0}, &v, NULL, st);
    assert_ok(st);
    bd_tensor_f32(&arg)[1] = 9; // a later update of the variable
    op_test_expect(&rets[0], "float[2] 1 2", 0, "a fetched variable");
    bd_value none = {0};
    run(&w, frame_node(&w, "_Arg", BRAID_FLOAT, 1), &(bd_op_ctx){0}, NULL, &none, st);
    assert_error(st, BRAID_INTERNAL, "wants argument 1 of 1");
    run(&w, frame_node(&w, "_Arg", BRAID_INT32, 0), &(bd_op_ctx){0}, NULL, &none, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Type mismatch: actual float vs. expect int32");
    w.step.frame = NULL;
    run(&w, frame_node(&w, "_Retval", BRAID_FLOAT, 0), &(bd_op_ctx){0}, &v, NULL, st);
    assert_error(st, BRAID_INTERNAL, "wants result 0 of 0");
    bd_value_fini(&v);
    bd_tensor_fini(&arg);
    bd_tensor_fini(&rets[0]);
    bd_tensor_fini(&rets[1]);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_goes_across),
        cmocka_unit_test(deadness_goes_across),
        cmocka_unit_test(frame_and_iteration_are_part_of_the_key),
        cmocka_unit_test(a_variable_is_copied_for_a_client_only),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(arg_and_retval_use_the_call_frame),
    };
    return BD_RUN_TESTS(tests);
}
