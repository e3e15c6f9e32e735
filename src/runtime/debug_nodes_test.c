// Debug nodes: what a run with watches writes, and what it refuses.
#include "runtime/debug_nodes.h"

#include "base/account.h"
#include "base/alloc.h"
#include "io/testing/temp_dir.h"
#include "runtime/testing/test_graph.h"
#include "tensorflow/core/util/event.pb-c.h"
#include <stdio.h>
#include <string.h>

#define DEVICE "_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0"

typedef struct watched {
    char *dir, *url;
    Tensorflow__DebugOptions options;
    Tensorflow__DebugTensorWatch watches[4], *pointers[4];
    char *ops[4];
} watched;

static void watched_init(watched *w)
{
    *w = (watched){.dir = bd_temp_dir_new()};
    w->url = bd_asprintf("file://%s", w->dir);
    tensorflow__debug_options__init(&w->options);
    w->options.debug_tensor_watch_opts = w->pointers;
}

static Tensorflow__DebugTensorWatch *watch(watched *w, const char *node, int slot, const char *op)
{
    const size_t i = w->options.n_debug_tensor_watch_opts++;
    Tensorflow__DebugTensorWatch *one = w->pointers[i] = &w->watches[i];
    tensorflow__debug_tensor_watch__init(one);
    one->node_name = (char *)node;
    one->output_slot = slot;
    w->ops[i] = (char *)op;
    one->debug_ops = &w->ops[i];
    one->debug_urls = &w->url;
    one->n_debug_ops = one->n_debug_urls = 1;
    return one;
}

static void watched_fini(watched *w)
{
    bd_temp_dir_free(w->dir);
    bd_free(w->url);
}

static void run(watched *w, braid_session *s, braid_out fetch, braid_op *target, braid_tensor **value,
                braid_status *st)
{
    bd_message m;
    bd_message_init(&m);
    bd_proto_pack_message(&w->options.base, &m);
    uint8_t *bytes = bd_malloc(m.bytes + 1);
    bd_message_gather(&m, bytes);
    braid_fetch f = {fetch, value};
    braid_run_args args = {.fetches = &f,
                           .fetch_count = fetch.op != NULL,
                           .targets = &target,
                           .target_count = target != NULL,
                           .debug_options = bytes,
                           .debug_options_len = m.bytes};
    braid_session_run(s, &args, st);
    bd_message_fini(&m);
    bd_free(bytes);
}

// The files below the root whose names begin with `prefix`, sorted.
static bd_name_list files(const watched *w, const char *under, const char *prefix)
{
    BD_STATUS(st);
    bd_name_list all, some = {0};
    char *dir = bd_path_join(w->dir, under);
    bd_dir_list(bd_fs_current, dir, &all, st);
    for (size_t i = 0; i < all.len; i++)
        if (strncmp(all.items[i], prefix, strlen(prefix)) == 0)
            bd_array_push(&some, bd_path_join(dir, all.items[i]));
    bd_name_list_sort(&some);
    bd_name_list_fini(&all);
    bd_free(dir);
    return some;
}

static void assert_file_count(const watched *w, const char *under, const char *prefix, size_t count)
{
    bd_name_list list = files(w, under, prefix);
    assert_int_equal(list.len, count);
    bd_name_list_fini(&list);
}

static const Tensorflow__Event *read_event(const char *path, bd_proto_arena *arena)
{
    size_t len;
    char *bytes = bd_test_read(path, &len);
    BD_STATUS(st);
    const Tensorflow__Event *e = bd_proto_unpack(&tensorflow__event__descriptor, bytes, len, arena, st);
    assert_ok(st);
    bd_free(bytes);
    return e;
}

// i = 0; while i < 5: i = i + 1.
static braid_out count_to_five(braid_graph *g)
{
    tg_loop l = tg_loop_begin(g, "loop", 10, 1, (braid_out[]){tg_int(g, NULL, 0)});
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], tg_enter(&l, tg_int(g, NULL, 5), true)));
    tg_loop_end(&l, (braid_out[]){tg2(g, "Add", "i", l.body[0], tg_enter(&l, tg_int(g, NULL, 1), true))});
    return l.exit[0];
}

static void each_iteration_of_a_loop_is_written_in_order(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out five = count_to_five(g);
    braid_session *s = tg_session(g, NULL);
    watched w;
    watched_init(&w);
    watch(&w, "*", -1, "DebugIdentity"); // of Enter, Merge, Switch and NextIteration, too
    BD_STATUS(st);
    braid_tensor *value;
    run(&w, s, five, NULL, &value, st);
    assert_ok(st);
    assert_int_equal(bd_tensor_i32(value)[0], 5);
    braid_tensor_free(value);
    bd_name_list list = files(&w, DEVICE, "i_0_DebugIdentity_");
    assert_int_equal(list.len, 5);
    for (size_t i = 0; i < list.len; i++) {
        BD_PROTO_ARENA(arena);
        const Tensorflow__Event *e = read_event(list.items[i], arena);
        const Tensorflow__Summary__Value *v = e->summary->value[0];
        assert_string_equal(v->node_name, "i:0:DebugIdentity");
        assert_string_equal(v->tag, "i");
        int32_t number;
        assert_int_equal(v->tensor->tensor_content.len, sizeof number);
        memcpy(&number, v->tensor->tensor_content.data, sizeof number);
        assert_int_equal(number, i + 1);
    }
    bd_name_list_fini(&list);
    assert_file_count(&w, ".", "_tfdbg_core_metadata_sessionrun", 1);
    assert_file_count(&w, DEVICE, "_tfdbg_graph_hash", 1);
    watched_fini(&w);
    tg_close(s, g);
}

static void a_loop_of_a_branch_that_is_not_taken_stays_dead(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out is_taken = tg_const(g, "is_taken", braid_tensor_bool(false));
    braid_out start = tg2(g, "Switch", "start", tg_int(g, NULL, 0), is_taken);
    tg_loop l = tg_loop_begin(g, "loop", 10, 1, (braid_out[]){{.op = start.op, .index = 1}});
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], tg_enter(&l, tg_int(g, NULL, 5), true)));
    tg_loop_end(&l, (braid_out[]){tg2(g, "Add", "i", l.body[0], tg_enter(&l, tg_int(g, NULL, 1), true))});
    braid_op_desc *d = braid_op_begin(g, "Merge", "result");
    braid_op_input_list(d, (braid_out[]){l.exit[0], tg1(g, "Neg", NULL, start)}, 2);
    const braid_out result = braid_op_end_out(d);
    braid_session *s = tg_session(g, NULL);
    watched w;
    watched_init(&w);
    watch(&w, "*", -1, "DebugIdentity");
    BD_STATUS(st);
    braid_tensor *value;
    run(&w, s, result, NULL, &value, st);
    assert_ok(st);
    assert_int_equal(bd_tensor_i32(value)[0], 0);
    braid_tensor_free(value);
    assert_file_count(&w, DEVICE, "i_0_DebugIdentity_", 0);
    watched_fini(&w);
    tg_close(s, g);
}

static void a_variable_is_written_as_it_was_before_its_update(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_op *set = tg2(g, "Assign", "set", v, tg_float(g, NULL, 7)).op;
    braid_op *add = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 1)).op;
    braid_session *s = tg_session(g, NULL);
    watched first, second;
    BD_STATUS(st);
    watched_init(&first);
    watch(&first, "v", 0, "DebugNumericSummary");
    run(&first, s, (braid_out){0}, set, NULL, st);
    assert_ok(st);
    watched_init(&second);
    watch(&second, "v", 0, "DebugIdentity");
    watch(&second, "add", 0, "DebugIdentity"); // nothing takes its output
    run(&second, s, (braid_out){0}, add, NULL, st);
    assert_ok(st);
    static const float values[] = {7, 8};
    static const char *const names[] = {"v_0_DebugIdentity_", "add_0_DebugIdentity_"};
    for (int i = 0; i < 2; i++) {
        bd_name_list list = files(&second, DEVICE, names[i]);
        assert_int_equal(list.len, 1);
        BD_PROTO_ARENA(arena);
        const Tensorflow__Event *e = read_event(list.items[0], arena);
        float number;
        memcpy(&number, e->summary->value[0]->tensor->tensor_content.data, sizeof number);
        assert_float_equal(number, values[i], 0);
        bd_name_list_fini(&list);
    }
    bd_name_list list = files(&first, DEVICE, "v_0_DebugNumericSummary_");
    assert_int_equal(list.len, 1);
    BD_PROTO_ARENA(arena);
    double is_initialized;
    memcpy(&is_initialized, read_event(list.items[0], arena)->summary->value[0]->tensor->tensor_content.data,
           sizeof is_initialized);
    assert_float_equal(is_initialized, 0, 0);
    bd_name_list_fini(&list);
    watched_fini(&first);
    watched_fini(&second);
    tg_close(s, g);
}

static void a_debug_op_that_cannot_be_made_fails_the_run_unless_it_is_tolerated(void **state)
{
    (void)state;
    static const struct {
        const char *op, *node;
        const char *message;
        bool is_tolerated;
    } cases[] = {
        {"DebugNumericSummary(low=1; up=2)", "y",
         "2 attribute key(s) were not valid for debug node __dbg_y:0_0_DebugNumericSummary: low, up", true},
        {"DebugNumericSummary(lower_bound)", "y", "Malformed attributes in debug op name", false},
        {"DebugNumericSummary(lower_bound=x)", "y", "Invalid value string for attribute lower_bound", true},
        {"DebugNanCount", "text",
         "Failed to create debug node DebugNanCount for tensor text:0, due to:", true},
        {"NoSuchOp", "y", "Failed to create debug node NoSuchOp for tensor y:0", true},
    };
    braid_graph *g = braid_graph_new();
    braid_tensor *text = braid_tensor_string("a");
    const braid_out y = tg1(g, "Neg", "y", tg_float(g, NULL, 1));
    const braid_out z = tg_identity_after(g, "z", y, tg1(g, "Identity", NULL, tg_const(g, "text", text)).op);
    braid_session *s = tg_session(g, NULL);
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        braid_tensor *value;
        watched w;
        watched_init(&w);
        Tensorflow__DebugTensorWatch *one = watch(&w, cases[i].node, 0, cases[i].op);
        run(&w, s, z, NULL, &value, st);
        assert_error(st, BRAID_FAILED_PRECONDITION, cases[i].message);
        one->tolerate_debug_op_creation_failures = true;
        braid_status_clear(st);
        run(&w, s, z, NULL, &value, st);
        assert_int_equal(st->code == BRAID_OK, cases[i].is_tolerated);
        if (!st->code) braid_tensor_free(value);
        watched_fini(&w);
    }
    tg_close(s, g);
}

static void urls_other_than_of_directories_are_refused(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out y = tg1(g, "Neg", "y", tg_float(g, NULL, 1));
    braid_session *s = tg_session(g, NULL);
    watched w;
    watched_init(&w);
    char *grpc = "grpc://localhost:1", *other = "ftp://x";
    BD_STATUS(st);
    braid_tensor *value;
    watch(&w, "y", 0, "DebugIdentity")->debug_urls = &grpc;
    run(&w, s, y, NULL, &value, st);
    assert_error(st, BRAID_UNIMPLEMENTED, "Braid does not send to debug URL 'grpc://localhost:1'");
    w.watches[0].debug_urls = &other;
    braid_status_clear(st);
    run(&w, s, y, NULL, &value, st);
    assert_error(st, BRAID_UNAVAILABLE, "Invalid debug target URL: ftp://x");
    watched_fini(&w);
    tg_close(s, g);
}

static void other_watches_have_another_description(void **state)
{
    (void)state;
    watched w;
    watched_init(&w);
    Tensorflow__DebugTensorWatch *x = watch(&w, "x", 0, "A|@file://b");
    bd_strbuf op = {0}, url = {0};
    x->n_debug_urls = 0;
    bd_debug_describe(&w.options, &op);
    x->debug_ops[0] = "A";
    bd_free(w.url);
    w.url = bd_strdup("file://b");
    x->n_debug_urls = 1;
    bd_debug_describe(&w.options, &url);
    assert_string_not_equal(bd_strbuf_str(&op), bd_strbuf_str(&url));
    bd_strbuf_fini(&op);
    bd_strbuf_fini(&url);
    watched_fini(&w);
}

// Each debug op is written with each URL, for each watched tensor.
static void watches_count_against_the_memory_of_their_client(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    for (int i = 0; i < 50; i++)
        tg_int(g, NULL, i);
    watched w;
    watched_init(&w);
    char *ops[20], *url = bd_calloc(1, 20001);
    for (size_t i = 0; i < BD_COUNTOF(ops); i++)
        ops[i] = "DebugIdentity";
    memset(url, 'x', 20000);
    memcpy(url, "file://", strlen("file://"));
    Tensorflow__DebugTensorWatch *all = watch(&w, "*", -1, NULL);
    all->debug_ops = ops;
    all->n_debug_ops = BD_COUNTOF(ops);
    all->debug_urls = &url;
    bd_account *account = bd_account_new("alice", 4 << 20, 0);
    const bd_account_turn turn = bd_account_enter(account);
    BD_STATUS(st);
    bd_debug_add_nodes(g, &w.options, bd_fs_current, st);
    bd_account_leave(turn);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "The graph with its debug nodes would take ");
    assert_true(bd_account_take(account, 4 << 20)); // nothing is counted any more
    bd_account_give(account, 4 << 20);
    bd_account_unref(account);
    bd_free(url);
    watched_fini(&w);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_iteration_of_a_loop_is_written_in_order),
        cmocka_unit_test(a_loop_of_a_branch_that_is_not_taken_stays_dead),
        cmocka_unit_test(a_variable_is_written_as_it_was_before_its_update),
        cmocka_unit_test(a_debug_op_that_cannot_be_made_fails_the_run_unless_it_is_tolerated),
        cmocka_unit_test(urls_other_than_of_directories_are_refused),
        cmocka_unit_test(other_watches_have_another_description),
        cmocka_unit_test(watches_count_against_the_memory_of_their_client),
    };
    return BD_RUN_TESTS(tests);
}
