// Which names a client may give to nodes and inputs, and which are a master's alone.
#include "graph/graph_def_external.h"
#include "graph/testing/test_ops.h"
#include "proto/text_format.h"
#include "tensorflow/core/framework/graph.pb-c.h"
#include <string.h>

static void check(const char *text, braid_status *st)
{
    bd_message m;
    bd_message_init(&m);
    bd_text_format_to_wire(&tensorflow__graph_def__descriptor, text, strlen(text), &m, st);
    assert_ok(st);
    bd_graph_def_check_external(&m, st);
    bd_message_fini(&m);
}

static void names_that_are_a_clients(void **state)
{
    (void)state;
    static const char *const graphs[] = {
        "",
        "node { name: 'a' } node { name: '7' } node { name: '.b' } node { name: 'c_/-.9' }",
        "node { name: 'scope>a>.b' }",
        "node { name: 'b' input: 'a' input: 'a:0' input: 'a/x_1:12' input: '^c' input: '^d.e' }",
        "node { name: 'odd' op: 'NobodysOp' input: 'nobody' attr { key: '_k' value { s: 'v' } } }",
        "library { function { signature { name: 'f' } node_def { name: '_inner' } } }",
    };
    for (size_t i = 0; i < BD_COUNTOF(graphs); i++) {
        BD_STATUS(st);
        check(graphs[i], st);
        assert_ok(st);
    }
}

static void names_that_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *graph, *text;
    } cases[] = {
        {"node { name: 'n:0' }", "Illegal op name 'n:0' [[{{node n:0}}]]"},
        {"node { name: 'ok' } node { name: '_n' }", "Illegal op name '_n'"},
        {"node { name: 'n\\\\' }", "Illegal op name 'n\\'"},
        {"node { op: 'NoOp' }", "Illegal op name ''"},
        {"node { name: 'a>' }", "Illegal op name 'a>'"},
        {"node { name: '>a' }", "Illegal op name '>a'"},
        {"node { name: 'a>_b' }", "Illegal op name 'a>_b'"},
        {"node { name: 'b' input: '_a' }", "Illegal op input name '_a' [[{{node b}}]]"},
        {"node { name: 'b' input: 'a\\\\' }", "Illegal op input name 'a\\'"},
        {"node { name: 'b' input: 'a:b' }", "Illegal op input name 'a:b'"},
        {"node { name: 'b' input: 'a:00' }", "Illegal op input name 'a:00'"},
        {"node { name: 'b' input: 'a:01' }", "Illegal op input name 'a:01'"},
        {"node { name: 'b' input: 'a:' }", "Illegal op input name 'a:'"},
        {"node { name: 'b' input: 'a:-1' }", "Illegal op input name 'a:-1'"},
        {"node { name: 'b' input: '' }", "Illegal op input name ''"},
        {"node { name: 'b' input: '^' }", "Illegal op input name '^'"},
        {"node { name: 'b' input: '^b:0' }", "Illegal op input name '^b:0'"},
        {"node { name: 'c' input: '^a' input: 'b' }",
         "All control inputs must follow all data inputs [[{{node c}}]]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        check(cases[i].graph, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].text);
    }
}

static void malformed_graphs_are_left_to_the_import(void **state)
{
    (void)state;
    static const char *const broken[] = {"\x0a\x7f", "\x0a\x03\x0a\x09x", "\x0a\x02\x0a\x01"};
    for (size_t i = 0; i < BD_COUNTOF(broken); i++) {
        bd_message m;
        bd_wire_writer w;
        bd_message_init(&m);
        bd_wire_writer_init(&w, &m);
        bd_wire_put_raw(&w, broken[i], strlen(broken[i]));
        bd_wire_writer_finish(&w);
        BD_STATUS(st);
        assert_int_equal(bd_graph_def_check_external(&m, st), BRAID_OK);
        bd_message_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_are_a_clients),
        cmocka_unit_test(names_that_are_not),
        cmocka_unit_test(malformed_graphs_are_left_to_the_import),
    };
    return BD_RUN_TESTS(tests);
}
