// Log lines: their form on stderr, levels, and sinks.
#include "base/log.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include <regex.h>
#include <unistd.h>

// Returns the output of `write_lines` on stderr.
static bd_strbuf captured(void (*write_lines)(void))
{
    int ends[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    write_lines(); // short enough for the pipe's buffer
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    bd_strbuf text = {0};
    char chunk[512];
    for (ssize_t got; (got = read(ends[0], chunk, sizeof chunk)) > 0;) {
        bd_strbuf_append_n(&text, chunk, (size_t)got);
    }
    close(ends[0]);
    return text;
}

static void two_lines(void)
{
    bd_info("step %d", 7);
    bd_error_log("gone\n");
}

static void a_line_has_time_level_and_text(void **state)
{
    (void)state;
    bd_strbuf text = captured(two_lines);
    regex_t pattern;
    const char *time = "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}";
    bd_strbuf expression = {0};
    bd_strbuf_appendf(&expression, "^%s I step 7\n%s E gone\n$", time, time);
    assert_int_equal(regcomp(&pattern, expression.data, REG_EXTENDED), 0);
    if (regexec(&pattern, bd_strbuf_str(&text), 0, NULL, 0) != 0) fail_msg("got: %s", bd_strbuf_str(&text));
    regfree(&pattern);
    bd_strbuf_fini(&expression);
    bd_strbuf_fini(&text);
}

static int evaluated;

static int count_evaluation(void)
{
    return ++evaluated;
}

static void below_the_level(void)
{
    bd_debug("%d", count_evaluation());
    braid_set_log_level(BRAID_LOG_ERROR);
    bd_warn("%d", count_evaluation());
    braid_set_log_level(BRAID_LOG_NONE);
    bd_error_log("%d", count_evaluation());
    bd_log(BD_ERROR, "not even directly");
    braid_set_log_level(BRAID_LOG_INFO);
}

static void lines_below_the_level_are_not_formatted(void **state)
{
    (void)state;
    bd_strbuf text = captured(below_the_level);
    assert_string_equal(bd_strbuf_str(&text), "");
    assert_int_equal(evaluated, 0);
    bd_strbuf_fini(&text);
}

static void collect(braid_log_level level, const char *message, void *arg)
{
    bd_strbuf_appendf(arg, "%d:%s|", (int)level, message);
}

static bd_strbuf collected;

static void to_a_sink(void)
{
    braid_set_log_sink(collect, &collected);
    bd_info("a");
    bd_warn("b\n");
    braid_set_log_sink(NULL, NULL);
}

static void a_sink_gets_the_text_instead_of_stderr(void **state)
{
    (void)state;
    bd_strbuf text = captured(to_a_sink);
    assert_string_equal(bd_strbuf_str(&text), "");
    assert_string_equal(bd_strbuf_str(&collected), "1:a|2:b|");
    bd_strbuf_fini(&text);
    bd_strbuf_fini(&collected);
    text = captured(two_lines);
    assert_non_null(strstr(bd_strbuf_str(&text), "I step 7\n"));
    bd_strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_and_text),
        cmocka_unit_test(lines_below_the_level_are_not_formatted),
        cmocka_unit_test(a_sink_gets_the_text_instead_of_stderr),
    };
    return BD_RUN_TESTS(tests);
}
