// Event files: their name, their first record, each kind of event read back, when they are flushed, and
// failures.
// labels: concurrent
#include "io/events.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "io/file.h"
#include "io/record.h"
#include "io/summary.h"
#include "io/testing/memory_fs.h"
#include "io/testing/temp_dir.h"
#include "proto/pack.h"
#include "tensorflow/core/util/event.pb-c.h"
#include <unistd.h>

static int in_temp_dir(void **state)
{
    *state = bd_temp_dir_new();
    return 0;
}

static int remove_temp_dir(void **state)
{
    bd_temp_dir_free(*state);
    return 0;
}

// ---- Reading events ----

struct reader {
    bd_record_reader *records;
    bd_proto_arena arena;
};

static struct reader open_reader(const char *path)
{
    BD_STATUS(st);
    struct reader r = {0};
    bd_record_reader_open(bd_fs_current, path, BD_COMPRESSION_NONE, &r.records, st);
    assert_ok(st);
    return r;
}

static void close_reader(struct reader *r)
{
    bd_record_reader_close(r->records);
    bd_proto_arena_fini(&r->arena);
}

// NULL at the end.
static const Tensorflow__Event *next_event(struct reader *r)
{
    BD_STATUS(st);
    const uint8_t *data;
    size_t len;
    if (bd_record_read(r->records, &data, &len, st) == BRAID_OUT_OF_RANGE) return NULL;
    assert_ok(st);
    const Tensorflow__Event *e = bd_proto_unpack(&tensorflow__event__descriptor, data, len, &r->arena, st);
    assert_ok(st);
    return e;
}

static const Tensorflow__Event *expect_event(struct reader *r, int64_t step, Tensorflow__Event__WhatCase what)
{
    const Tensorflow__Event *e = next_event(r);
    assert_non_null(e);
    assert_int_equal(e->step, step);
    assert_int_equal(e->what_case, what);
    double now = (double)bd_wall_micros() / 1e6;
    assert_true(e->wall_time <= now && e->wall_time > now - 1000);
    return e;
}

static void expect_version(struct reader *r)
{
    const Tensorflow__Event *e = expect_event(r, 0, TENSORFLOW__EVENT__WHAT_FILE_VERSION);
    assert_string_equal(e->file_version, "brain.Event:2");
}

static int count_events(const char *path)
{
    struct reader r = open_reader(path);
    int count = 0;
    while (next_event(&r))
        count++;
    close_reader(&r);
    return count;
}

static bd_event_writer *open_writer(const char *dir, const bd_event_options *options)
{
    BD_STATUS(st);
    bd_event_writer *w;
    bd_event_writer_open(bd_fs_current, dir, options, &w, st);
    assert_ok(st);
    return w;
}

static void close_writer(bd_event_writer *w)
{
    BD_STATUS(st);
    bd_event_writer_close(w, st);
    assert_ok(st);
}

// ---- Names ----

static void the_file_name_has_time_and_host(void **state)
{
    char host[256], *dir = bd_path_join(*state, "made/for/it");
    gethostname(host, sizeof host);
    int64_t before = bd_wall_micros() / 1000000;
    bd_event_writer *w = open_writer(dir, &(bd_event_options){.suffix = ".v2"});
    int64_t after = bd_wall_micros() / 1000000, seconds;
    char *start = bd_asprintf("%s/events.out.tfevents.", dir), *end = bd_asprintf(".%s.v2", host);
    const char *path = bd_event_writer_path(w);
    assert_true(strncmp(path, start, strlen(start)) == 0);
    char *digits = bd_strndup(path + strlen(start), 10);
    assert_string_equal(path + strlen(start) + 10, end);
    assert_true(bd_parse_int64(digits, &seconds));
    assert_true(seconds >= before && seconds <= after);
    struct reader r = open_reader(path); // the first event is written at once
    expect_version(&r);
    close_reader(&r);
    close_writer(w);
    bd_free(dir);
    bd_free(start);
    bd_free(end);
    bd_free(digits);
}

static void files_of_one_second_do_not_collide(void **state)
{
    bd_event_writer *w[5];
    for (int i = 0; i < 5; i++)
        w[i] = open_writer(*state, NULL);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < i; k++)
            assert_string_not_equal(bd_event_writer_path(w[i]), bd_event_writer_path(w[k]));
    }
    for (int i = 0; i < 5; i++)
        close_writer(w[i]);
}

// ---- Events ----

static void each_kind_of_event_is_read_back(void **state)
{
    BD_STATUS(st);
    bd_event_writer *w = open_writer(*state, NULL);
    char *path = bd_strdup(bd_event_writer_path(w));
    bd_event_put_graph(w, 0, "graph", 5, st);
    bd_event_put_meta_graph(w, "meta", 4, st);
    bd_event_put_session_log(w, 0, BD_SESSION_START, NULL, NULL, st);
    bd_event_put_scalar(w, 100, "loss", 0.25f, st);
    bd_event_put_session_log(w, 200, BD_SESSION_CHECKPOINT, "/d/model.ckpt-200", "saved", st);
    bd_event_put_run_metadata(w, 300, "step300", "metadata", 8, st);
    bd_event_put_summary(w, -1, "", 0, st);
    assert_ok(st);
    close_writer(w);

    struct reader r = open_reader(path);
    expect_version(&r);
    const Tensorflow__Event *e = expect_event(&r, 0, TENSORFLOW__EVENT__WHAT_GRAPH_DEF);
    assert_int_equal(e->graph_def.len, 5);
    assert_memory_equal(e->graph_def.data, "graph", 5);
    e = expect_event(&r, 0, TENSORFLOW__EVENT__WHAT_META_GRAPH_DEF);
    assert_memory_equal(e->meta_graph_def.data, "meta", 4);
    e = expect_event(&r, 0, TENSORFLOW__EVENT__WHAT_SESSION_LOG);
    assert_int_equal(e->session_log->status, TENSORFLOW__SESSION_LOG__SESSION_STATUS__START);
    e = expect_event(&r, 100, TENSORFLOW__EVENT__WHAT_SUMMARY);
    assert_int_equal(e->summary->n_value, 1);
    assert_string_equal(e->summary->value[0]->tag, "loss");
    assert_int_equal(e->summary->value[0]->value_case, TENSORFLOW__SUMMARY__VALUE__VALUE_SIMPLE_VALUE);
    assert_true(e->summary->value[0]->simple_value == 0.25f);
    e = expect_event(&r, 200, TENSORFLOW__EVENT__WHAT_SESSION_LOG);
    assert_int_equal(e->session_log->status, TENSORFLOW__SESSION_LOG__SESSION_STATUS__CHECKPOINT);
    assert_string_equal(e->session_log->checkpoint_path, "/d/model.ckpt-200");
    assert_string_equal(e->session_log->msg, "saved");
    e = expect_event(&r, 300, TENSORFLOW__EVENT__WHAT_TAGGED_RUN_METADATA);
    assert_string_equal(e->tagged_run_metadata->tag, "step300");
    assert_memory_equal(e->tagged_run_metadata->run_metadata.data, "metadata", 8);
    expect_event(&r, -1, TENSORFLOW__EVENT__WHAT_SUMMARY);
    assert_null(next_event(&r));
    close_reader(&r);
    bd_free(path);
}

static void summary_values_share_one_event(void **state)
{
    BD_STATUS(st);
    bd_message m;
    bd_wire_writer out;
    bd_histogram h;
    bd_histogram_init(&h);
    bd_histogram_add(&h, 3);
    bd_histogram_add(&h, -1);
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_summary_put_scalar(&out, bd_summary_tag_of("global_step/sec"), 12.5f);
    bd_summary_put_histogram(&out, bd_summary_tag_of("fc1/weights"), &h);
    bd_summary_put_scalar(&out, bd_summary_tag_of(""), 0);
    bd_wire_writer_finish(&out);
    uint8_t *bytes = bd_malloc(m.bytes);
    bd_message_gather(&m, bytes);
    bd_event_writer *w = open_writer(*state, NULL);
    bd_event_put_summary(w, 7, bytes, m.bytes, st);
    bd_event_writer_flush(w, st);
    assert_ok(st);

    struct reader r = open_reader(bd_event_writer_path(w));
    expect_version(&r);
    const Tensorflow__Summary *s = expect_event(&r, 7, TENSORFLOW__EVENT__WHAT_SUMMARY)->summary;
    assert_int_equal(s->n_value, 3);
    assert_string_equal(s->value[0]->tag, "global_step/sec");
    assert_true(s->value[0]->simple_value == 12.5f);
    assert_string_equal(s->value[1]->tag, "fc1/weights");
    assert_int_equal(s->value[1]->value_case, TENSORFLOW__SUMMARY__VALUE__VALUE_HISTO);
    assert_true(s->value[1]->histo->num == 2 && s->value[1]->histo->min == -1 &&
                s->value[1]->histo->max == 3);
    assert_int_equal(s->value[2]->value_case, TENSORFLOW__SUMMARY__VALUE__VALUE_SIMPLE_VALUE);
    close_reader(&r);
    close_writer(w);
    bd_free(bytes);
    bd_message_fini(&m);
    bd_histogram_fini(&h);
}

static void a_histogram_counts_values_so_many_times(void **state)
{
    BD_STATUS(st);
    bd_histogram h;
    bd_histogram_init(&h);
    bd_histogram_add_times(&h, 2, 5);
    bd_histogram_add_times(&h, 7, 0);
    bd_histogram_add(&h, -1);
    bd_event_writer *w = open_writer(*state, NULL);
    bd_event_put_histogram(w, 3, "staleness", &h, st);
    bd_event_writer_flush(w, st);
    assert_ok(st);
    struct reader r = open_reader(bd_event_writer_path(w));
    expect_version(&r);
    const Tensorflow__Summary *s = expect_event(&r, 3, TENSORFLOW__EVENT__WHAT_SUMMARY)->summary;
    assert_string_equal(s->value[0]->tag, "staleness");
    const Tensorflow__HistogramProto *got = s->value[0]->histo;
    assert_true(got->num == 6 && got->sum == 9 && got->sum_squares == 21 && got->min == -1 && got->max == 2);
    close_reader(&r);
    close_writer(w);
    bd_histogram_fini(&h);
}

// ---- Flushing ----

static void a_full_queue_flushes_events(void **state)
{
    BD_STATUS(st);
    bd_event_writer *w = open_writer(*state, &(bd_event_options){.queue_len = 3});
    for (int i = 1; i <= 3; i++) {
        bd_event_put_scalar(w, i, "x", 0, st);
        assert_int_equal(count_events(bd_event_writer_path(w)), 1);
    }
    bd_event_put_scalar(w, 4, "x", 0, st);
    assert_int_equal(count_events(bd_event_writer_path(w)), 5);
    bd_event_put_scalar(w, 5, "x", 0, st);
    assert_int_equal(count_events(bd_event_writer_path(w)), 5);
    bd_event_writer_flush(w, st);
    assert_ok(st);
    assert_int_equal(count_events(bd_event_writer_path(w)), 6);
    close_writer(w);
}

static void events_are_flushed_after_the_interval(void **state)
{
    BD_STATUS(st);
    bd_event_writer *w = open_writer(*state, &(bd_event_options){.flush_ms = 1, .queue_len = 1000000});
    const int64_t deadline_ns = bd_deadline_after_ms(60000);
    for (int count = 1; count_events(bd_event_writer_path(w)) == 1 && bd_now_ns() < deadline_ns; count++) {
        bd_event_put_scalar(w, count, "x", 0, st);
        assert_ok(st);
    }
    assert_true(count_events(bd_event_writer_path(w)) > 1);
    close_writer(w);
}

enum {
    THREADS = 4,
    EACH = 200
};

static void put_many(void *arg)
{
    BD_STATUS(st);
    for (int i = 0; i < EACH; i++)
        bd_event_put_scalar(arg, i, "x", 0, st);
    BD_ASSERT(st->code == BRAID_OK);
}

static void events_of_many_threads_stay_whole(void **state)
{
    BD_STATUS(st);
    bd_thread threads[THREADS];
    bd_event_writer *w = open_writer(*state, NULL);
    for (int i = 0; i < THREADS; i++) {
        bd_thread_start(&threads[i], "events", put_many, w, st);
        assert_ok(st);
    }
    for (int i = 0; i < THREADS; i++)
        bd_thread_join(&threads[i]);
    bd_event_writer_flush(w, st);
    assert_ok(st);
    assert_int_equal(count_events(bd_event_writer_path(w)), 1 + THREADS * EACH);
    close_writer(w);
}

// ---- Failures ----

static void a_removed_file_is_an_error(void **state)
{
    BD_STATUS(st);
    bd_event_writer *w = open_writer(*state, NULL);
    bd_file_remove(bd_fs_current, bd_event_writer_path(w), st);
    assert_ok(st);
    bd_event_put_scalar(w, 1, "x", 0, st);
    assert_ok(st);
    bd_event_writer_flush(w, st);
    assert_error(st, BRAID_NOT_FOUND, "events.out.tfevents.");
    bd_event_writer_close(w, st);
    assert_error(st, BRAID_DATA_LOSS, "1 events of");
}

static void writing_goes_on_in_another_file_when_the_disk_has_room_again(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_memory_fs_install();
    bd_event_writer *w = open_writer("/dir", &(bd_event_options){.queue_len = -1});
    char *first = bd_strdup(bd_event_writer_path(w));
    bd_event_put_scalar(w, 1, "x", 0, st);
    assert_ok(st);
    bd_memory_fs_fail_after(0, true);
    for (int step = 2; step <= 4; step++) {
        bd_event_put_scalar(w, step, "x", 0, st);
        assert_error(st, BRAID_RESOURCE_EXHAUSTED, "simulated failure");
        braid_status_clear(st);
    }
    bd_memory_fs_fail_after(-1, false);
    bd_event_put_scalar(w, 5, "x", 0, st);
    assert_ok(st);
    assert_string_not_equal(bd_event_writer_path(w), first);
    assert_int_equal(count_events(bd_event_writer_path(w)), 2);
    close_writer(w);
    bd_free(first);
    bd_memory_fs_uninstall();
}

static void a_file_in_place_of_the_directory_is_an_error(void **state)
{
    BD_STATUS(st);
    bd_event_writer *w;
    char *file = bd_path_join(*state, "file");
    bd_test_write(file, "x", 1);
    bd_event_writer_open(bd_fs_current, file, NULL, &w, st);
    assert_null(w);
    assert_error(st, BRAID_FAILED_PRECONDITION, file);
    bd_free(file);
}

// Each call fails once: opened files are closed, and flushed events are in the file.
static void a_failing_disk_loses_no_flushed_event(void **state)
{
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        BD_STATUS(st);
        bd_event_writer *w;
        bd_memory_fs_install();
        bd_memory_fs_fail_after(n, false);
        if (bd_event_writer_open(bd_fs_current, "/dir", NULL, &w, st) == BRAID_OK) {
            char *path = bd_strdup(bd_event_writer_path(w));
            bd_event_put_scalar(w, 1, "x", 0, st);
            done = bd_event_writer_close(w, st) == BRAID_OK;
            if (done) assert_int_equal(count_events(path), 2);
            bd_free(path);
        }
        if (!done) assert_error(st, BRAID_RESOURCE_EXHAUSTED, "simulated failure");
        bd_memory_fs_uninstall();
        assert_true(n < 100);
    }
}

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown((test), in_temp_dir, remove_temp_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TEMP_DIR(the_file_name_has_time_and_host),
        IN_TEMP_DIR(files_of_one_second_do_not_collide),
        IN_TEMP_DIR(each_kind_of_event_is_read_back),
        IN_TEMP_DIR(summary_values_share_one_event),
        IN_TEMP_DIR(a_histogram_counts_values_so_many_times),
        IN_TEMP_DIR(a_full_queue_flushes_events),
        IN_TEMP_DIR(events_are_flushed_after_the_interval),
        IN_TEMP_DIR(events_of_many_threads_stay_whole),
        IN_TEMP_DIR(a_removed_file_is_an_error),
        IN_TEMP_DIR(a_file_in_place_of_the_directory_is_an_error),
        cmocka_unit_test(a_failing_disk_loses_no_flushed_event),
        cmocka_unit_test(writing_goes_on_in_another_file_when_the_disk_has_room_again),
    };
    return BD_RUN_TESTS(tests);
}
