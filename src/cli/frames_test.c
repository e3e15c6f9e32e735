// Tests of the frames between `braid run` and its agents.
#include "frames.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void frames_come_out_however_they_are_cut(void **state)
{
    (void)state;
    bd_strbuf sent = {0};
    char large[70000];
    memset(large, 'x', sizeof large);
    bd_frame_append(&sent, BD_FRAME_HELLO, BD_HELLO, strlen(BD_HELLO));
    bd_frame_append(&sent, BD_FRAME_PING, NULL, 0);
    bd_frame_append(&sent, BD_FRAME_OUT, large, sizeof large);
    bd_frame_append_number(&sent, BD_FRAME_EXIT, 7);
    const char types[] = {BD_FRAME_HELLO, BD_FRAME_PING, BD_FRAME_OUT, BD_FRAME_EXIT};
    const size_t lens[] = {strlen(BD_HELLO), 0, sizeof large, 1};
    for (size_t piece = 1; piece <= sent.len; piece = piece * 3 + 1) {
        bd_byte_queue q = {0};
        size_t count = 0;
        for (size_t at = 0; at < sent.len; at += piece) {
            bd_frame f;
            bd_strbuf_append_n(&q.data, sent.data + at, at + piece < sent.len ? piece : sent.len - at);
            for (; bd_frame_next(&q, &f) == 1; count++) {
                assert_int_equal(f.type, types[count]);
                assert_int_equal(f.len, lens[count]);
                if (f.type == BD_FRAME_EXIT) assert_int_equal(bd_frame_number(&f), 7);
            }
        }
        assert_int_equal(count, sizeof types);
        bd_byte_queue_fini(&q);
    }
    bd_strbuf_fini(&sent);
}

static void a_file_has_a_name_and_any_content(void **state)
{
    (void)state;
    bd_byte_queue q = {0};
    bd_frame f;
    const char *name, *data;
    size_t len;
    bd_frame_append_file(&q.data, "key.pem", "a\0b", 3);
    assert_int_equal(bd_frame_next(&q, &f), 1);
    assert_int_equal(f.type, BD_FRAME_FILE);
    assert_true(bd_frame_read_file(&f, &name, &data, &len));
    assert_string_equal(name, "key.pem");
    assert_int_equal(len, 3);
    assert_memory_equal(data, "a\0b", 3);
    assert_false(bd_frame_read_file(&(bd_frame){BD_FRAME_FILE, "key.pem", 7}, &name, &data, &len));
    assert_false(bd_frame_read_file(&(bd_frame){BD_FRAME_FILE, NULL, 0}, &name, &data, &len));
    bd_byte_queue_fini(&q);
}

static void a_frame_that_is_too_long_is_refused(void **state)
{
    (void)state;
    bd_byte_queue q = {0};
    bd_frame f;
    bd_strbuf_append(&q.data, "Welcome to host b\n");
    assert_int_equal(bd_frame_next(&q, &f), -1);
    bd_byte_queue_fini(&q);
}

static void a_number_is_digits_only(void **state)
{
    (void)state;
    assert_int_equal(bd_frame_number(&(bd_frame){BD_FRAME_EXIT, "255", 3}), 255);
    assert_int_equal(bd_frame_number(&(bd_frame){BD_FRAME_EXIT, "-1", 2}), -1);
    assert_int_equal(bd_frame_number(&(bd_frame){BD_FRAME_EXIT, "", 0}), -1);
    assert_int_equal(bd_frame_number(&(bd_frame){BD_FRAME_EXIT, "1x", 2}), -1);
}

static void a_start_is_read_as_it_was_written(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"program"}, (char[]){""}, (char[]){"two words"}},
         *variables[] = {(char[]){"A=1\n2"}};
    const bd_start start = {.directory = "/d",
                            .program = "./p",
                            .argv = argv,
                            .argc = 3,
                            .variables = variables,
                            .variable_count = 1};
    bd_byte_queue q = {0};
    bd_start_append(&q.data, &start);
    bd_frame f;
    assert_int_equal(bd_frame_next(&q, &f), 1);
    bd_start got;
    assert_true(bd_start_read(&f, &got));
    assert_string_equal(got.directory, "/d");
    assert_string_equal(got.program, "./p");
    assert_int_equal(got.argc, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(got.argv[i], argv[i]);
    assert_null(got.argv[3]);
    assert_int_equal(got.variable_count, 1);
    assert_string_equal(got.variables[0], variables[0]);
    bd_start_fini(&got);
    bd_byte_queue_fini(&q);
}

static void a_malformed_start_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *content;
        size_t len;
    } malformed[] = {
        {"", 0},        {"/d\0p\0001\0a", 8}, // without the last zero
        {"/d\0p\0", 5}, {"/d\0p\0002\0a\0", 9}, {"/d\0p\0x\0a\0", 9}, {"/d\0p\0000\0a\0", 9},
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        bd_start got;
        const bd_frame f = {BD_FRAME_START, malformed[i].content, malformed[i].len};
        assert_false(bd_start_read(&f, &got));
        bd_start_fini(&got);
    }
}

static void a_queue_passes_bytes_through_a_pipe(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    bd_byte_queue from = {0}, to = {0};
    for (int i = 0; i < 30000; i++)
        bd_strbuf_appendf(&from.data, "%d ", i);
    const size_t len = from.data.len;
    char *all = strdup(from.data.data);
    bool got;
    while (bd_byte_queue_len(&to) < len) {
        assert_true(bd_byte_queue_write(&from, fds[1]));
        assert_true(bd_byte_queue_read(&to, fds[0], &got));
        assert_true(got);
    }
    assert_memory_equal(to.data.data, all, len);
    assert_int_equal(bd_byte_queue_len(&from), 0);
    assert_true(bd_byte_queue_read(&to, fds[0], &got)); // nothing now
    assert_false(got);
    close(fds[1]);
    assert_false(bd_byte_queue_read(&to, fds[0], &got)); // the end
    close(fds[0]);
    free(all);
    bd_byte_queue_fini(&from);
    bd_byte_queue_fini(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_however_they_are_cut),
        cmocka_unit_test(a_file_has_a_name_and_any_content),
        cmocka_unit_test(a_frame_that_is_too_long_is_refused),
        cmocka_unit_test(a_number_is_digits_only),
        cmocka_unit_test(a_start_is_read_as_it_was_written),
        cmocka_unit_test(a_malformed_start_is_refused),
        cmocka_unit_test(a_queue_passes_bytes_through_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
