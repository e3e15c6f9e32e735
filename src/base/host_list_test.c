// Tests of lists and files of hosts, and of placing tasks on them.
#include "base/host_list.h"
#include "base/strbuf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct example {
    const char *from, *expected; // "a:2 b:1"; with `!` in front, words of the error
} example;

static void check(const example *e, braid_code (*parse)(const char *, bd_host_list *, braid_status *))
{
    BD_STATUS(st);
    bd_host_list list = {0};
    bd_strbuf text = {0};
    const braid_code code = parse(e->from, &list, st);
    if (code) bd_strbuf_appendf(&text, "!%s", st->message);
    for (size_t i = 0; i < list.len && !code; i++)
        bd_strbuf_appendf(&text, "%s%s:%d", i ? " " : "", list.items[i].name, list.items[i].tasks);
    const char *got = bd_strbuf_str(&text);
    if (e->expected[0] == '!' ? !strstr(got, e->expected + 1) : strcmp(got, e->expected) != 0)
        fail_msg("%s\n  gave     %s\n  expected %s", e->from, got, e->expected);
    bd_strbuf_fini(&text);
    bd_host_list_free(&list);
}

static void lists_have_hosts_with_numbers_of_tasks(void **state)
{
    (void)state;
    static const example examples[] = {
        {"a", "a:1"},
        {"a:2,b.example:3", "a:2 b.example:3"},
        {"[fd00::1]:2,[fd00::2]", "fd00::1:2 fd00::2:1"},
        {"a,b:2,a:3", "a:4 b:2"},
        {"", "!the name of a host is missing"},
        {"a,,b", "!the name of a host is missing"},
        {"a:0", "!'a:0' is no host or host:tasks"},
        {"a:10001", "!'a:10001' is no host"},
        {"a:10000,a", "!host 'a' has more than 10000 tasks"},
        {"a:b:1", "!'a:b:1' is no host"},
        {"[::1", "!'[::1' is no host"},
        {"[::1]2", "!'[::1]2' is no host"},
        {"-a", "!'-a' is no name of a host"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i], bd_host_list_parse);
}

static void files_have_hosts_with_slots(void **state)
{
    (void)state;
    static const example examples[] = {
        {"a slots=2\nb max_slots=4 slots=3\n", "a:2 b:3"},
        {"# all\n\n a\t# one\nb:2\r\n[::1] max-slots=1", "a:1 b:2 ::1:1"},
        {"a\na slots=2\n", "a:3"},
        {"", "!it names no host"},
        {"#a\n", "!it names no host"},
        {"a\nb slots=0\n", "!line 2: 'slots=0' is no slots=N"},
        {"a user=x\n", "!line 1: 'user=x' is no slots=N"},
        {"\n\n-a slots=1\n", "!line 3: '-a' is no name of a host"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i], bd_host_file_parse);
}

// The hosts of tasks in turn: "a0 b0 a1", the number is the task's on its host.
static void check_placing(bool is_cyclic, const char *expected)
{
    BD_STATUS(st);
    bd_host_list list = {0};
    assert_int_equal(bd_host_list_parse("a:3,b:1,c:2", &list, st), BRAID_OK);
    bd_placing p;
    bd_placing_init(&p, &list, is_cyclic);
    bd_strbuf text = {0};
    for (int i = 0; i < bd_host_list_tasks(&list); i++) {
        int on_host;
        const char *host = list.items[bd_placing_next(&p, &on_host)].name;
        bd_strbuf_appendf(&text, "%s%s%d", i ? " " : "", host, on_host);
    }
    assert_string_equal(bd_strbuf_str(&text), expected);
    bd_strbuf_fini(&text);
    bd_placing_fini(&p);
    bd_host_list_free(&list);
}

static void tasks_fill_hosts_or_take_turns(void **state)
{
    (void)state;
    check_placing(false, "a0 a1 a2 b0 c0 c1");
    check_placing(true, "a0 b0 c0 a1 c1 a2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_have_hosts_with_numbers_of_tasks),
        cmocka_unit_test(files_have_hosts_with_slots),
        cmocka_unit_test(tasks_fill_hosts_or_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
