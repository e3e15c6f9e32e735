// Definitions of ops as OpDef messages, which TensorFlow's front ends make their wrappers from.
#include <braid/op_list.h>

#include "graph/testing/test_ops.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/core/framework/op_def.pb-c.h"
#include <stdlib.h>

static char *text_of(const ProtobufCMessageDescriptor *type, void *data, size_t len)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    assert_non_null(data);
    const ProtobufCMessage *m = bd_proto_unpack(type, data, len, arena, st);
    assert_ok(st);
    free(data);
    return bd_text_format_print(m);
}

static void assert_def(const char *op, const char *want)
{
    BD_STATUS(st);
    size_t len;
    void *data = braid_op_def(op, &len, st);
    assert_ok(st);
    char *text = text_of(&tensorflow__op_def__descriptor, data, len);
    assert_string_equal(text, want);
    bd_free(text);
}

#define ARG(WHICH, NAME, REST) WHICH "_arg {\n  name: \"" NAME "\"\n" REST "}\n"
#define TYPE_ATTR "  type_attr: \"T\"\n"
#define FALSE_BY_DEFAULT "  type: \"bool\"\n  default_value {\n    b: false\n  }\n"

static void a_definition_has_arguments_attrs_and_flags(void **state)
{
    (void)state;
    assert_def("MatMul", "name: \"MatMul\"\n" ARG("input", "a", TYPE_ATTR) ARG("input", "b", TYPE_ATTR)
                             ARG("output", "product",
                                 TYPE_ATTR) "attr {\n  name: \"transpose_a\"\n" FALSE_BY_DEFAULT "}\n"
                                            "attr {\n  name: \"transpose_b\"\n" FALSE_BY_DEFAULT "}\n"
                                            "attr {\n  name: \"grad_a\"\n" FALSE_BY_DEFAULT "}\n"
                                            "attr {\n  name: \"T\"\n  type: \"type\"\n"
                                            "  allowed_values {\n    list {\n"
                                            "      type: DT_FLOAT\n      type: DT_DOUBLE\n"
                                            "      type: DT_INT32\n    }\n  }\n}\n");
}

static void lists_references_and_minima_are_written(void **state)
{
    (void)state;
    assert_def(
        "QueueEnqueue",
        "name: \"QueueEnqueue\"\n" ARG("input", "handle", "  type: DT_STRING\n  is_ref: true\n") ARG(
            "input", "components",
            "  type_list_attr: \"Tcomponents\"\n") "attr {\n  name: \"Tcomponents\"\n  type: \"list(type)\"\n"
                                                   "  has_minimum: true\n  minimum: 1\n}\n"
                                                   "attr {\n  name: \"timeout_ms\"\n  type: \"int\"\n"
                                                   "  default_value {\n    i: -1\n  }\n}\n");
    assert_def(
        "Pool",
        "name: \"Pool\"\n" ARG("input", "value", "  type: DT_FLOAT\n") ARG(
            "output", "output",
            "  type: DT_FLOAT\n") "attr {\n  name: \"ksize\"\n  type: \"list(int)\"\n"
                                  "  has_minimum: true\n  minimum: 4\n}\n"
                                  "attr {\n  name: \"padding\"\n  type: \"string\"\n  allowed_values {\n"
                                  "    list {\n      s: \"SAME\"\n      s: \"VALID\"\n    }\n  }\n}\n"
                                  "attr {\n  name: \"rates\"\n  type: \"list(float)\"\n  default_value {\n"
                                  "    list {\n      f: 0.5\n      f: 1.0\n    }\n  }\n}\n");
}

static void an_unknown_op_is_not_found(void **state)
{
    (void)state;
    BD_STATUS(st);
    size_t len = 7;
    assert_null(braid_op_def("MatMull", &len, st));
    assert_int_equal(len, 0);
    assert_error(st, BRAID_NOT_FOUND, "Op type not registered 'MatMull'; did you mean 'MatMul'?");
    assert_null(braid_op_def(NULL, &len, st));
    assert_error(st, BRAID_NOT_FOUND, "Op type not registered ''");
}

static void the_list_has_each_op_in_order(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    size_t len;
    void *data = braid_op_def_list(&len, st);
    assert_ok(st);
    const Tensorflow__OpList *list = bd_proto_unpack(&tensorflow__op_list__descriptor, data, len, arena, st);
    assert_ok(st);
    assert_int_equal(list->n_op, bd_op_table_len);
    for (size_t i = 0; i < list->n_op; i++) {
        assert_string_equal(list->op[i]->name, bd_op_table[i].name);
        assert_int_equal(list->op[i]->is_stateful, (bd_op_table[i].op->flags & BD_OP_STATEFUL) != 0);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_has_arguments_attrs_and_flags),
        cmocka_unit_test(lists_references_and_minima_are_written),
        cmocka_unit_test(an_unknown_op_is_not_found),
        cmocka_unit_test(the_list_has_each_op_in_order),
    };
    return BD_RUN_TESTS(tests);
}
