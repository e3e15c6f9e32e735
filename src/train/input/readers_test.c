// Readers: records, counts and states of those that a graph makes.
// labels: concurrent
#include "base/testing/test.h"

#include "io/testing/temp_dir.h"
#include <braid/braid.h>
#include <stdio.h>
#include <string.h>

// A queue of the given names, closed, and a session in which it is so.
typedef struct fixture {
    braid_graph *graph;
    braid_queue files;
    braid_op *fill;
    braid_session *session;
} fixture;

static void set_up(fixture *f, const char *const *names, int count)
{
    static const braid_dtype string = BRAID_STRING;
    braid_graph *g = f->graph = braid_graph_new();
    f->files = braid_fifo_queue(
        g, &(braid_queue_options){.dtypes = &string, .shapes = &(braid_shape){0}, .count = 1});
    braid_tensor *t = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(count), NULL);
    for (int i = 0; i < count; i++)
        braid_tensor_set_string(t, i, names[i], strlen(names[i]));
    const braid_out all = braid_const(g, NULL, t);
    braid_tensor_free(t);
    braid_op *fill = braid_queue_enqueue_many(g, f->files, &all);
    braid_push_control(g, &fill, 1);
    f->fill = braid_queue_close(g, f->files, false);
    braid_pop_control(g);
}

static braid_code run_status(fixture *f, braid_op *target, braid_status *st)
{
    return braid_session_run(f->session, &(braid_run_args){.targets = &target, .target_count = 1}, st);
}

static void run(fixture *f, braid_op *target)
{
    BD_STATUS(st);
    run_status(f, target, st);
    assert_ok(st);
}

static void open_session(fixture *f)
{
    BD_STATUS(st);
    braid_graph_status(f->graph, st);
    assert_ok(st);
    f->session = braid_session_open(f->graph, NULL, st);
    assert_ok(st);
    run(f, f->fill);
}

static void tear_down(fixture *f)
{
    BD_STATUS(st);
    braid_session_close(f->session, st);
    assert_ok(st);
    braid_graph_free(f->graph);
}

static braid_tensor *fetch(fixture *f, braid_out out)
{
    BD_STATUS(st);
    braid_tensor *t = NULL;
    braid_session_run(f->session, &(braid_run_args){.fetches = &(braid_fetch){out, &t}, .fetch_count = 1},
                      st);
    assert_ok(st);
    return t;
}

static void expect_strings(fixture *f, braid_out out, const char *const *want, int count)
{
    braid_tensor *t = fetch(f, out);
    assert_int_equal(braid_tensor_num_elements(t), count);
    for (int i = 0; i < count; i++) {
        size_t len;
        const char *got = braid_tensor_string_at(t, i, &len);
        assert_int_equal(len, strlen(want[i]));
        assert_memory_equal(got, want[i], len);
    }
    braid_tensor_free(t);
}

static void expect_number(fixture *f, braid_out out, int64_t want)
{
    braid_tensor *t = fetch(f, out);
    assert_int_equal(*(const int64_t *)braid_tensor_data(t), want);
    braid_tensor_free(t);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void records_of_fixed_length_are_read_between_header_and_footer(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new();
    char path[4096];
    snprintf(path, sizeof path, "%s/records", dir);
    write_file(path, "HHabcdefF");
    fixture f;
    set_up(&f, (const char *const[]){path}, 1);
    const braid_out reader = braid_fixed_length_record_reader(
        f.graph, &(braid_fixed_length_options){.record_bytes = 2, .header_bytes = 2, .footer_bytes = 1});
    const braid_read first = braid_reader_read(f.graph, reader, f.files),
                     rest = braid_reader_read_up_to(f.graph, reader, f.files, 10);
    const braid_out produced = braid_reader_num_records_produced(f.graph, reader);
    open_session(&f);
    expect_strings(&f, first.value, (const char *const[]){"ab"}, 1);
    expect_strings(&f, rest.value, (const char *const[]){"cd", "ef"}, 2);
    expect_number(&f, produced, 3);
    tear_down(&f);
    bd_temp_dir_free(dir);
}

static void a_reader_goes_on_from_a_state_and_begins_again_when_it_is_reset(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, (const char *const[]){"a", "b", "c"}, 3);
    const braid_out reader = braid_identity_reader(f.graph);
    const braid_read record = braid_reader_read(f.graph, reader, f.files);
    const braid_out count = braid_reader_num_records_produced(f.graph, reader),
                    done = braid_reader_num_work_units_completed(f.graph, reader),
                    now = braid_reader_serialize_state(f.graph, reader),
                    before = braid_placeholder(f.graph, "before", BRAID_STRING, (braid_shape){0});
    braid_op *restore = braid_reader_restore_state(f.graph, reader, before),
             *reset = braid_reader_reset(f.graph, reader);
    open_session(&f);
    expect_strings(&f, record.key, (const char *const[]){"a"}, 1);
    braid_tensor *saved = fetch(&f, now);
    expect_strings(&f, record.value, (const char *const[]){"b"}, 1);
    expect_number(&f, count, 2);
    BD_STATUS(st);
    braid_session_run(
        f.session,
        &(braid_run_args){
            .feeds = &(braid_feed){before, saved}, .feed_count = 1, .targets = &restore, .target_count = 1},
        st);
    assert_ok(st);
    braid_tensor_free(saved);
    expect_number(&f, count, 1);
    expect_number(&f, done, 1);
    run(&f, reset);
    expect_number(&f, count, 0);
    expect_strings(&f, record.value, (const char *const[]){"c"}, 1); // what the queue has
    assert_int_equal(run_status(&f, record.value.op, st), BRAID_OUT_OF_RANGE);
    tear_down(&f);
}

static void wrong_readers_fail_the_graph(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    assert_null(braid_fixed_length_record_reader(g, &(braid_fixed_length_options){.record_bytes = 0}).op);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "A reader of records of 0 bytes");
    braid_graph_free(g);
    fixture f;
    set_up(&f, (const char *const[]){"a"}, 1);
    assert_null(braid_reader_read_up_to(f.graph, braid_identity_reader(f.graph), f.files, 0).key.op);
    braid_graph_status(f.graph, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Reading up to 0 records");
    braid_graph_free(f.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_fixed_length_are_read_between_header_and_footer),
        cmocka_unit_test(a_reader_goes_on_from_a_state_and_begins_again_when_it_is_reset),
        cmocka_unit_test(wrong_readers_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
