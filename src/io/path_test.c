// Tests of relative and absolute forms of paths.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/path.h"
#include <stdlib.h>
#include <unistd.h>

static void relative_paths_match_python(void **state)
{
    (void)state;
    // As os.path.relpath gives them.
    static const char *const cases[][3] = {
        {"/a/b/model", "/a/b", "model"},
        {"/a/b/model", "/a/c", "../b/model"},
        {"/a", "/a", "."},
        {"/a", "/a/b/c", "../.."},
        {"/ab", "/a", "../ab"},
        {"/a/b/../c//d/.", "/a/c/", "d"},
        {"/", "/a/b", "../.."},
        {"/x", "/", "x"},
        {"/", "/", "."},
        {"log/model-1", "log", "model-1"},
        {"model-1", "log/x", "../../model-1"},
        {"./log/m", "log/", "m"},
        {"/../../a", "/", "a"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        char *got = bd_path_relative(cases[i][0], cases[i][1]);
        assert_string_equal(got, cases[i][2]);
        bd_free(got);
    }
}

static void absolute_paths_have_no_dots(void **state)
{
    (void)state;
    char *here = getcwd(NULL, 0), *got = bd_path_absolute("x/../y"), *want = bd_asprintf("%s/y", here);
    assert_string_equal(got, want);
    bd_free(got);
    bd_free(want);
    free(here);
    got = bd_path_absolute("/../.");
    assert_string_equal(got, "/");
    bd_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(relative_paths_match_python),
                                       cmocka_unit_test(absolute_paths_have_no_dots)};
    return BD_RUN_TESTS(tests);
}
