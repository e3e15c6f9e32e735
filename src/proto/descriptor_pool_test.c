// Pools of descriptors: types found by name, their fields, and what makes a FileDescriptorSet unusable.
#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "proto/descriptor_pool.h"
#include "proto/text_format.h"
#include <google/protobuf/descriptor.pb-c.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

// The pool of a FileDescriptorSet as text, in which ' is ".
static bd_descriptor_pool *pool_of(const char *text, braid_status *st)
{
    bd_message set;
    bd_message_init(&set);
    char *quoted = bd_strdup(text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'') *c = '"';
    if (bd_text_format_to_wire(&google__protobuf__file_descriptor_set__descriptor, quoted, strlen(quoted),
                               &set, st))
        fail_msg("%s", st->message);
    char *bytes = bd_malloc(set.bytes + 1);
    bd_message_gather(&set, bytes);
    bd_descriptor_pool *pool;
    bd_descriptor_pool_new(bytes, set.bytes, &pool, st);
    bd_free(bytes);
    bd_free(quoted);
    bd_message_fini(&set);
    return pool;
}

static const bd_message_field *field_of(const bd_message_type *type, const char *name)
{
    const bd_message_field *f = bd_message_type_find(type, name);
    assert_non_null(f);
    return f;
}

static void braids_messages_are_found(void **state)
{
    (void)state;
    const bd_descriptor_pool *pool = bd_descriptor_pool_of_braid();
    const bd_message_type *type = bd_descriptor_pool_find(pool, "tensorflow.AttrValue.ListValue");
    assert_non_null(type);
    assert_string_equal(bd_message_type_name(type), "tensorflow.AttrValue.ListValue");
    assert_int_equal(field_of(type, "i")->number, 3);
    assert_true(field_of(type, "i")->is_repeated && field_of(type, "i")->is_packed);
    assert_int_equal(field_of(type, "type")->type, BD_FIELD_ENUM);
    assert_ptr_equal(field_of(type, "shape")->message,
                     bd_descriptor_pool_find(pool, "tensorflow.TensorShapeProto"));
    assert_null(bd_message_type_find(type, "x"));
    assert_non_null(bd_descriptor_pool_find(pool, "tensorflow.Example"));
    assert_null(bd_descriptor_pool_find(pool, "tensorflow"));
    assert_null(bd_descriptor_pool_find(pool, "tensorflow.DataType"));
    assert_null(bd_descriptor_pool_find(pool, ""));
}

#define FIELD(NAME, NUMBER, REST) "field { name: '" NAME "' number: " NUMBER " " REST " } "

static void names_are_looked_for_from_the_scope_outwards(void **state)
{
    (void)state;
    braid_status st = {0};
    bd_descriptor_pool *pool = pool_of(
        "file { package: 'a.b' message_type { name: 'M' nested_type { name: 'N' } " FIELD("x", "2",
                                                                                          "type_name: 'N'")
            FIELD("y", "1", "type_name: 'b.M'") FIELD("z", "3", "type_name: '.N' type: TYPE_MESSAGE") FIELD(
                "e", "4",
                "type_name: 'E' default_value: 'TWO'") "} enum_type { name: 'E' value { name: 'ONE' number: 1 } "
                                                       "value { name: 'TWO' number: -2 } } } "
                                                       "file { message_type { name: 'N' } extension { name: 'x' number: 9 extendee: 'a.b.M' type: TYPE_BOOL } }",
        &st);
    assert_non_null(pool);
    const bd_message_type *m = bd_descriptor_pool_find(pool, "a.b.M");
    assert_ptr_equal(field_of(m, "x")->message, bd_descriptor_pool_find(pool, "a.b.M.N"));
    assert_int_equal(field_of(m, "x")->type, BD_FIELD_MESSAGE);
    assert_string_equal(bd_message_type_name(field_of(m, "y")->message), "a.b.M");
    assert_string_equal(bd_message_type_name(field_of(m, "z")->message), "N");
    assert_int_equal(field_of(m, "e")->type, BD_FIELD_ENUM);
    assert_int_equal((int64_t)field_of(m, "e")->default_bits, -2);
    assert_string_equal(bd_message_type_field(m, 0)->name, "y"); // by number
    assert_int_equal(bd_message_type_field_count(m), 4);
    bd_descriptor_pool_free(pool);

    // An extension is found by its full name.
    pool = pool_of("file { package: 'p' message_type { name: 'M' } extension { name: 'x' number: 9 extendee: "
                   "'.p.M' type: TYPE_BOOL } }",
                   &st);
    assert_int_equal(field_of(bd_descriptor_pool_find(pool, "p.M"), "p.x")->number, 9);
    bd_descriptor_pool_free(pool);
}

static void defaults_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text, *bytes;
        uint64_t bits;
        double number;
    } cases[] = {
        {"INT32", "-5", "", (uint64_t)-5, 0},
        {"UINT64", "18446744073709551615", "", UINT64_MAX, 0},
        {"BOOL", "true", "", 1, 0},
        {"BOOL", "false", "", 0, 0},
        {"FLOAT", "1.5e3", "", 0, 1500},
        {"DOUBLE", "-0.25", "", 0, -0.25},
        {"STRING", "a\\\\n", "a\\n", 0, 0},
        {"BYTES", "a\\\\n\\\\101\\\\x42\\\\\\\\\\\\", "a\nAB\\\\", 0, 0},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_status st = {0};
        char *text = bd_asprintf("file { message_type { name: 'M' field { name: 'f' number: 1 type: TYPE_%s "
                                 "default_value: '%s' } } }",
                                 cases[i].type, cases[i].text);
        bd_descriptor_pool *pool = pool_of(text, &st);
        if (!pool) fail_msg("%s: %s", text, st.message);
        const bd_message_field *f = field_of(bd_descriptor_pool_find(pool, "M"), "f");
        assert_true(f->default_bits == cases[i].bits && f->default_number == cases[i].number);
        assert_int_equal(f->default_len, strlen(cases[i].bytes));
        assert_memory_equal(f->default_bytes, cases[i].bytes, f->default_len);
        bd_descriptor_pool_free(pool);
        bd_free(text);
    }
}

#define IN_M(FIELDS) "file { message_type { name: 'M' " FIELDS " } }"

static void sets_that_cannot_be_used_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"file { message_type { } }", "has no name"},
        {"file { message_type { name: 'M' } message_type { name: 'M' } }", "M is defined twice"},
        {"file { package: 'p' message_type { name: 'M' } enum_type { name: 'M' } }", "p.M is defined twice"},
        {"file { enum_type { name: 'E' } }", "enum E has no values"},
        {"file { enum_type { name: 'E' value { number: 1 } } }", "a value of enum E has no name"},
        {IN_M("field { number: 1 type: TYPE_BOOL }"), "a field of M has no name"},
        {IN_M("field { name: 'f' type: TYPE_BOOL }"), "field M.f has the number 0"},
        {IN_M("field { name: 'f' number: 536870912 type: TYPE_BOOL }"), "has the number 536870912"},
        {IN_M("field { name: 'f' number: 1 }"), "field M.f has no known type"},
        {IN_M("field { name: 'f' number: 1 type_name: 'x.Y' type: TYPE_MESSAGE }"),
         "field M.f has the type 'x.Y', which is not defined"},
        {IN_M("field { name: 'f' number: 1 type: TYPE_ENUM }"), "has the type '', which is not defined"},
        {IN_M("field { name: 'f' number: 1 type: TYPE_INT32 default_value: '1x' }"),
         "has the default '1x', which is not of type int32"},
        {IN_M("field { name: 'f' number: 1 type: TYPE_UINT32 default_value: '-1' }"),
         "which is not of type uint32"},
        {IN_M("field { name: 'f' number: 1 type: TYPE_BOOL } field { name: 'f' number: 2 type: TYPE_BOOL }"),
         "M has the field f twice"},
        {IN_M("field { name: 'f' number: 1 type: TYPE_BOOL } field { name: 'g' number: 1 type: TYPE_BOOL }"),
         "M has the field number 1 twice"},
        {"file { extension { name: 'x' number: 1 type: TYPE_BOOL extendee: 'M' } }",
         "x extends 'M', which is not defined"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        assert_null(pool_of(cases[i][0], st));
        if (st->code != BRAID_INVALID_ARGUMENT || !strstr(st->message, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], st->message);
    }
    BD_STATUS(st);
    bd_descriptor_pool *pool;
    assert_int_equal(bd_descriptor_pool_new("\x0a\x05", 2, &pool, st), BRAID_INVALID_ARGUMENT);
    assert_null(pool);
}

static void texts_are_read_by_the_types_of_a_pool(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_strbuf text = {0};
    bd_strbuf_append(&text, "file { message_type { name: 'M' ");
    for (int i = 1; i <= 300; i++) // more than any message of src/proto has
        bd_strbuf_appendf(&text, "field { name: 'f%d' number: %d type: TYPE_INT32 } ", i, i);
    bd_strbuf_append(&text, "} }");
    bd_descriptor_pool *pool = pool_of(bd_strbuf_str(&text), st);
    const ProtobufCMessageDescriptor *type = bd_message_type_descriptor(bd_descriptor_pool_find(pool, "M"));
    bd_message out;
    bd_message_init(&out);
    assert_int_equal(bd_text_format_to_wire(type, "f300: 7 f1: 1", 13, &out, st), BRAID_OK);
    assert_int_equal(out.bytes, 5);
    bd_message_fini(&out);
    bd_message_init(&out);
    assert_int_equal(bd_text_format_to_wire(type, "f300: 7 f300: 1", 15, &out, st), BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "occurs twice"));
    bd_message_fini(&out);
    bd_descriptor_pool_free(pool);
    bd_strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(braids_messages_are_found),
        cmocka_unit_test(names_are_looked_for_from_the_scope_outwards),
        cmocka_unit_test(defaults_are_read),
        cmocka_unit_test(sets_that_cannot_be_used_are_refused),
        cmocka_unit_test(texts_are_read_by_the_types_of_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
