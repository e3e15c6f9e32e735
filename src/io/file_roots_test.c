// Paths within directories: what the confined file system opens, and what it refuses.
#include "io/file.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "io/glob.h"
#include "io/testing/temp_dir.h"
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

// DIR/root with the files `a` and `sub/b`, and DIR/out/secret beside it.
typedef struct fixture {
    char *dir;
    bd_file_roots *roots;
    bd_fs fs;
    char at[8][256]; // paths of the last calls of `in`
    int next;
} fixture;

// A path in the fixture's directory; good for the next calls.
static const char *in(fixture *f, const char *name)
{
    char *path = f->at[f->next++ % 8];
    snprintf(path, sizeof f->at[0], "%s/%s", f->dir, name);
    return path;
}

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = *state = bd_calloc(1, sizeof *f);
    f->dir = bd_temp_dir_new();
    bd_dir_make(bd_fs_current, in(f, "root/sub"), st);
    bd_dir_make(bd_fs_current, in(f, "out"), st);
    assert_ok(st);
    bd_test_write(in(f, "root/a"), "a", 1);
    bd_test_write(in(f, "root/sub/b"), "b", 1);
    bd_test_write(in(f, "out/secret"), "s", 1);
    f->roots = bd_file_roots_new();
    f->fs = bd_fs_within(f->roots);
    bd_file_roots_allow(f->roots, in(f, "root"), st);
    assert_ok(st);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_file_roots_free(f->roots);
    bd_temp_dir_free(f->dir);
    bd_free(f);
    return 0;
}

static void link_to(fixture *f, const char *target, const char *name)
{
    assert_int_equal(symlink(target, in(f, name)), 0);
}

static braid_code read_at(const fixture *f, const char *path, braid_status *st)
{
    char *data;
    size_t len;
    bd_file_read_all(&f->fs, path, 1 << 20, &data, &len, st);
    bd_free(data);
    return st->code;
}

static braid_code write_at(const fixture *f, const char *path, braid_status *st)
{
    bd_file *file;
    BD_STATUS(ignored);
    if (!bd_file_open(&f->fs, path, BD_FILE_CREATE, &file, st)) bd_file_close(file, ignored);
    return st->code;
}

static void expect_read(const fixture *f, const char *path)
{
    BD_STATUS(st);
    read_at(f, path, st);
    assert_ok(st);
}

static void expect_code(fixture *f, const char *path, braid_code code)
{
    BD_STATUS(st);
    if (read_at(f, path, st) != code)
        fail_msg("%s: %s: %s", path, braid_code_name(st->code), braid_status_message(st));
}

static void expect_refused(fixture *f, const char *path)
{
    BD_STATUS(st);
    expect_code(f, path, BRAID_PERMISSION_DENIED);
    assert_int_equal(write_at(f, path, st), BRAID_PERMISSION_DENIED);
    assert_non_null(strstr(braid_status_message(st), path));
    assert_error(st, BRAID_PERMISSION_DENIED, "--file-root DIR");
}

static void files_below_a_root_are_opened_and_others_refused(void **state)
{
    fixture *f = *state;
    expect_read(f, in(f, "root/a"));
    expect_read(f, in(f, "root/sub/b"));
    expect_read(f, in(f, "root//./sub/../a"));
    expect_read(f, in(f, "root/sub/../../root/a"));
    expect_code(f, in(f, "root/none"), BRAID_NOT_FOUND);
    expect_code(f, in(f, "root/a/b"), BRAID_FAILED_PRECONDITION);
    expect_code(f, in(f, "root"), BRAID_FAILED_PRECONDITION);
    expect_code(f, "", BRAID_NOT_FOUND);
    expect_refused(f, in(f, "out/secret"));
    expect_refused(f, in(f, "root/../out/secret"));
    expect_refused(f, in(f, "root/sub/../../out/secret"));
    expect_refused(f, in(f, "roots"));
    expect_refused(f, "/etc/passwd");
    expect_refused(f, "/");
}

static void a_uri_of_a_file_is_confined_as_its_path(void **state)
{
    fixture *f = *state;
    char *inside = bd_asprintf("file://%s", in(f, "root/a"));
    char *outside = bd_asprintf("file://%s", in(f, "out/secret"));
    expect_read(f, inside);
    expect_refused(f, outside);
    bd_free(inside);
    bd_free(outside);
}

// The system refuses it where there are no roots. bd_dir_make needs memory for each directory above it.
static void a_path_that_is_too_long_is_refused(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    bd_strbuf path = {0};
    bd_strbuf_append(&path, in(f, "root"));
    for (int i = 0; i < 3000; i++)
        bd_strbuf_append(&path, "/d");
    expect_code(f, bd_strbuf_str(&path), BRAID_INVALID_ARGUMENT);
    assert_int_equal(bd_dir_make(&f->fs, bd_strbuf_str(&path), st), BRAID_INVALID_ARGUMENT);
    expect_code(f, in(f, "root/d"), BRAID_NOT_FOUND);
    bd_strbuf_fini(&path);
}

// Else a client could find out what there is elsewhere.
static void a_refusal_does_not_tell_what_is_there(void **state)
{
    fixture *f = *state;
    expect_refused(f, in(f, "out/none"));
    expect_refused(f, in(f, "none/at/all"));
    expect_refused(f, in(f, "out/../root/a"));
    expect_refused(f, in(f, "none/../root/a"));
}

static void a_link_leads_where_its_target_is_allowed(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    link_to(f, "sub/b", "root/relative");
    link_to(f, in(f, "root/sub"), "root/absolute");
    link_to(f, "../out", "root/leaves");
    link_to(f, in(f, "out/secret"), "root/leaves_at_once");
    link_to(f, "sub/../../root/sub/new", "root/dangling");
    link_to(f, "../out/new", "root/dangling_out");
    link_to(f, "loop", "root/loop");
    expect_read(f, in(f, "root/relative"));
    expect_read(f, in(f, "root/absolute/b"));
    expect_read(f, in(f, "root/absolute/../a")); // as the system: ".." of the link's target
    expect_code(f, in(f, "root/loop"), BRAID_INVALID_ARGUMENT);
    expect_code(f, in(f, "root/dangling"), BRAID_NOT_FOUND);
    expect_refused(f, in(f, "root/leaves/secret"));
    expect_refused(f, in(f, "root/leaves_at_once"));
    expect_refused(f, in(f, "root/dangling_out"));
    write_at(f, in(f, "root/dangling"), st);
    assert_ok(st);
    expect_read(f, in(f, "root/sub/new"));
    assert_false(bd_file_exists(bd_fs_current, in(f, "out/new")));
}

static void links_of_proc_are_read_as_text(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    bd_file_roots_allow(f->roots, "/proc", st);
    assert_ok(st);
    expect_refused(f, "/proc/self/root/etc/passwd");
    expect_refused(f, "/proc/self/exe");
}

static void files_are_changed_below_a_root_only(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    const bd_fs *fs = &f->fs;
    link_to(f, "../out", "root/leaves");
    bd_file_write_atomic(fs, in(f, "root/new"), "n", 1, st);
    bd_dir_make(fs, in(f, "root/x/y"), st);
    bd_file_rename(fs, in(f, "root/new"), in(f, "root/x/y/new"), st);
    assert_ok(st);
    bd_file_rename(fs, in(f, "root/a"), in(f, "out/a"), st);
    assert_error(st, BRAID_PERMISSION_DENIED, "cannot replace");
    bd_file_rename(fs, in(f, "out/secret"), in(f, "root/secret"), st);
    assert_error(st, BRAID_PERMISSION_DENIED, "cannot rename");
    bd_file_remove(fs, in(f, "root/leaves/secret"), st);
    assert_error(st, BRAID_PERMISSION_DENIED, "cannot remove");
    bd_dir_make(fs, in(f, "root/leaves/made"), st);
    assert_error(st, BRAID_PERMISSION_DENIED, "root/leaves/made");
    bd_dir_remove(fs, in(f, "out"), st);
    assert_error(st, BRAID_PERMISSION_DENIED, "cannot remove directory");
    bd_file_remove(fs, in(f, "root/leaves"), st); // the link itself
    bd_file_remove(fs, in(f, "root/x/y/new"), st);
    bd_dir_remove(fs, in(f, "root/x/y"), st);
    assert_ok(st);
    expect_code(f, in(f, "root/a"), BRAID_OK);
    assert_true(bd_file_exists(bd_fs_current, in(f, "out/secret")));
    assert_false(bd_file_exists(fs, in(f, "out/secret")));
}

static void a_pattern_finds_files_below_a_root_only(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    bd_name_list found;
    bd_glob(&f->fs, in(f, "root/*/b"), &found, st);
    assert_ok(st);
    assert_int_equal(found.len, 1);
    bd_name_list_fini(&found);
    link_to(f, "../out/secret", "root/file_out");
    bd_glob(&f->fs, in(f, "root/*"), &found, st); // without file_out
    assert_ok(st);
    assert_int_equal(found.len, 2);
    bd_name_list_fini(&found);
    const char *const outside[] = {in(f, "out/*"), in(f, "*/secret"), in(f, "out/secret"), "/*/passwd",
                                   "/etc/p*"};
    for (int i = 0; i < 5; i++) {
        bd_glob(&f->fs, outside[i], &found, st);
        assert_int_equal(found.len, 0);
        assert_error(st, BRAID_PERMISSION_DENIED, "cannot ");
    }
}

static void a_root_need_not_be_there_and_may_be_removed_and_made_again(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    bd_file_roots_allow(f->roots, in(f, "later/log"), st);
    for (int i = 0; i < 2; i++) {
        expect_code(f, in(f, "later/log/x"), BRAID_NOT_FOUND);
        bd_dir_make(&f->fs, in(f, "later/log/deep"), st);
        assert_ok(st);
        write_at(f, in(f, "later/log/x"), st);
        assert_ok(st);
        expect_refused(f, in(f, "later/x"));
        bd_file_remove(&f->fs, in(f, "later/log/x"), st);
        bd_dir_remove(&f->fs, in(f, "later/log/deep"), st);
        bd_dir_remove(&f->fs, in(f, "later/log"), st);
        assert_ok(st);
    }
    bd_file_roots_allow(f->roots, in(f, "root/a"), st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "it is not a directory");
    bd_file_roots_allow(f->roots, "", st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "without a name");
}

static void a_root_named_by_a_link_is_known_by_both_names(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    link_to(f, "out", "link");
    bd_file_roots_allow(f->roots, in(f, "link"), st);
    assert_ok(st);
    expect_read(f, in(f, "link/secret"));
    expect_read(f, in(f, "out/secret"));
}

static void a_list_names_directories_or_none(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    bd_file_roots *roots = f->roots;
    f->fs.roots = f->roots = bd_file_roots_new();
    bd_file_roots_allow_list(f->roots, "none", st);
    assert_ok(st);
    expect_refused(f, in(f, "root/a"));
    char list[600];
    snprintf(list, sizeof list, "%s:%s", in(f, "root"), in(f, "out"));
    bd_file_roots_allow_list(f->roots, list, st);
    assert_ok(st);
    expect_read(f, in(f, "root/a"));
    expect_read(f, in(f, "out/secret"));
    expect_refused(f, "/etc/passwd");
    bd_file_roots_allow_list(f->roots, "/", st);
    assert_ok(st);
    expect_read(f, "/etc/passwd");
    bd_file_roots_free(roots);
}

// ---- Names that change meanwhile ----

typedef struct swapper {
    fixture *f;
    char inside[256], outside[256], name[256], spare[256];
    atomic_bool is_over;
} swapper;

// Puts links in and out of the root under one name by turns.
static void swap(void *arg)
{
    swapper *s = arg;
    for (int i = 0; !atomic_load(&s->is_over); i++) {
        assert_int_equal(symlink(i % 2 ? s->outside : s->inside, s->spare), 0);
        assert_int_equal(rename(s->spare, s->name), 0);
    }
}

static void a_link_that_is_swapped_never_leads_out(void **state)
{
    fixture *f = *state;
    swapper s = {.f = f};
    int read = 0, refused = 0;
    bd_thread thread;
    BD_STATUS(st);
    snprintf(s.inside, sizeof s.inside, "%s", in(f, "root/sub"));
    snprintf(s.outside, sizeof s.outside, "%s", in(f, "out"));
    snprintf(s.name, sizeof s.name, "%s", in(f, "root/swapped"));
    snprintf(s.spare, sizeof s.spare, "%s", in(f, "root/spare"));
    bd_test_write(in(f, "root/sub/file"), "inside", 6);
    bd_test_write(in(f, "out/file"), "secret", 6);
    link_to(f, s.inside, "root/swapped");
    bd_thread_start(&thread, "swap", swap, &s, st);
    assert_ok(st);
    const char *path = in(f, "root/swapped/file");
    // Ends: the other thread changes the name all the time.
    for (int i = 0; i < 2000 || read == 0 || refused == 0; i++) {
        bd_file *file;
        braid_status_clear(st);
        if (bd_file_open(&f->fs, path, BD_FILE_READ, &file, st)) {
            refused++;
            assert_int_equal(st->code, BRAID_PERMISSION_DENIED);
            continue;
        }
        char text[6];
        bd_file_read_exact(file, 0, text, sizeof text, st);
        bd_file_close(file, st);
        assert_memory_equal(text, "inside", 6);
        read++;
    }
    atomic_store(&s.is_over, true);
    bd_thread_join(&thread);
    braid_status_clear(st);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_below_a_root_are_opened_and_others_refused),
        TEST(a_uri_of_a_file_is_confined_as_its_path),
        TEST(a_path_that_is_too_long_is_refused),
        TEST(a_refusal_does_not_tell_what_is_there),
        TEST(a_link_leads_where_its_target_is_allowed),
        TEST(links_of_proc_are_read_as_text),
        TEST(files_are_changed_below_a_root_only),
        TEST(a_pattern_finds_files_below_a_root_only),
        TEST(a_root_need_not_be_there_and_may_be_removed_and_made_again),
        TEST(a_root_named_by_a_link_is_known_by_both_names),
        TEST(a_list_names_directories_or_none),
        TEST(a_link_that_is_swapped_never_leads_out),
    };
    return BD_RUN_TESTS(tests);
}
