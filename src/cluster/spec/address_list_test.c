// Lists of addresses that an operator names.
#include "cluster/spec/address_list.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_entry_stands_for_a_host_an_address_or_all(void **state)
{
    (void)state;
    const struct {
        const char *list, *address;
        bool has;
    } rows[] = {
        {NULL, "h:1", false},
        {"", "h:1", false},
        {"*", "h:1", true},
        {"*", "unix:/tmp/s", true},
        {"h", "h:1", true},
        {"H", "h:65535", true},
        {"h", "h.example.com:1", false},
        {"h:2", "h:1", false},
        {"g,h:1", "h:1", true},
        {"10.0.0.1", "10.0.0.1:2222", true},
        {"10.0.0.1", "10.0.0.11:2222", false},
        {"[::1]", "[::1]:1", true},
        {"[::1]:2", "[::1]:1", false},
        {"unix:/tmp/s", "unix:/tmp/s", true},
        {"unix:/tmp/s", "unix:/tmp/t", false},
        {"h", "unix:/h", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        BD_STATUS(st);
        bd_address_list list;
        assert_int_equal(bd_address_list_parse(rows[i].list, &list, st), BRAID_OK);
        if (bd_address_list_has(&list, rows[i].address) != rows[i].has)
            fail_msg("'%s' and %s", rows[i].list ? rows[i].list : "NULL", rows[i].address);
        bd_address_list_fini(&list);
    }
}

static void other_entries_are_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {"a b", "h,", ",h", "h:0", "h:x", "http://h", "unix:s", "h:1|h:2"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        BD_STATUS(st);
        bd_address_list list;
        if (bd_address_list_parse(lists[i], &list, st) != BRAID_INVALID_ARGUMENT)
            fail_msg("'%s' is accepted", lists[i]);
        assert_int_equal(list.entries.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_stands_for_a_host_an_address_or_all),
        cmocka_unit_test(other_entries_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
