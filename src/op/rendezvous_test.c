// Keys of the rendezvous: TensorFlow's text form, and malformed keys.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "op/rendezvous.h"

#define WORKER "/job:worker/replica:0/task:1/device:CPU:0"
#define PS "/job:ps/replica:0/task:0/device:CPU:0"

static void a_key_is_the_text_that_tensorflow_makes(void **state)
{
    (void)state;
    char *text = bd_rendezvous_key_format(PS, 0x1f, WORKER, "edge_7_W/read", 0, 0);
    assert_string_equal(text, PS ";000000000000001f;" WORKER ";edge_7_W/read;0:0");
    bd_free(text);
    text = bd_rendezvous_key_format(PS, UINT64_MAX, WORKER, "x:0", UINT64_MAX, 12);
    assert_string_equal(text, PS ";ffffffffffffffff;" WORKER ";x:0;18446744073709551615:12");
    bd_rendezvous_parsed_key parsed;
    BD_STATUS(st);
    bd_rendezvous_key_parse(text, strlen(text), &parsed, st);
    assert_ok(st);
    assert_int_equal(parsed.src_incarnation, UINT64_MAX);
    bd_free(text);
}

static void a_key_parses_into_its_parts(void **state)
{
    (void)state;
    static const char text[] = PS ";00000000000000aB;" WORKER ";edge_7_W/read;5:3 and more";
    bd_rendezvous_parsed_key p;
    BD_STATUS(st);
    bd_rendezvous_key_parse(text, strlen(text) - strlen(" and more"), &p, st);
    assert_ok(st);
    assert_int_equal(p.src_device_len, strlen(PS));
    assert_memory_equal(p.src_device, PS, p.src_device_len);
    assert_int_equal(p.dst_device_len, strlen(WORKER));
    assert_memory_equal(p.dst_device, WORKER, p.dst_device_len);
    assert_int_equal(p.edge_len, strlen("edge_7_W/read"));
    assert_memory_equal(p.edge, "edge_7_W/read", p.edge_len);
    assert_int_equal(p.src_incarnation, 0xab);
}

static void malformed_keys_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        ";;;;",
        "x",
        PS ";1f;" WORKER ";edge",                 // a part is missing
        PS ";1f;" WORKER ";edge;0:0;more",        // one too many
        PS ";xyz;" WORKER ";edge;0:0",            // no hexadecimal number
        PS ";;" WORKER ";edge;0:0",               // no edge name and no iteration
        PS ";12345678123456781;" WORKER ";e;0:0", // too long for 64 bits
        "cpu;1f;" WORKER ";edge;0:0",             // no full device
        PS ";1f;" WORKER ";;0:0",                 // no edge
        PS ";1f;" WORKER ";edge;0",               // no iteration
        PS ";1f;" WORKER ";edge;0:-1",
        PS ";1f;" WORKER ";edge;:",
    };
    for (size_t i = 0; i < BD_COUNTOF(bad); i++) {
        bd_rendezvous_parsed_key p;
        BD_STATUS(st);
        bd_rendezvous_key_parse(bad[i], strlen(bad[i]), &p, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "Invalid rendezvous key");
    }
}

static void equal_texts_have_equal_keys(void **state)
{
    (void)state;
    bd_rendezvous_key a = bd_rendezvous_key_of("one"), b = bd_rendezvous_key_of("one"),
                      c = bd_rendezvous_key_of("two");
    assert_int_equal(a.hash, b.hash);
    assert_int_equal(a.len, 3);
    assert_int_not_equal(a.hash, c.hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_the_text_that_tensorflow_makes),
        cmocka_unit_test(a_key_parses_into_its_parts),
        cmocka_unit_test(malformed_keys_are_refused),
        cmocka_unit_test(equal_texts_have_equal_keys),
    };
    return BD_RUN_TESTS(tests);
}
