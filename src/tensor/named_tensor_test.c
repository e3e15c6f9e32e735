// NamedTensorProto: round trips, also by protobuf-c, and malformed messages.
#include "tensor/named_tensor.h"

#include "base/testing/test.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/tensor.pb-c.h"
#include "tensorflow/core/protobuf/named_tensor.pb-c.h"

static void named_tensors_survive_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message m;
    bd_wire_writer w;
    braid_tensor *value = braid_tensor_float(2.5f);
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_named_tensor_put("x:0", value, 2, &w);
    bd_wire_writer_finish(&w);
    braid_tensor_free(value);

    bd_wire_reader in = bd_wire_reader_of(&m), sub;
    uint32_t field;
    bd_wire_type type;
    assert_true(bd_wire_next(&in, &field, &type));
    assert_int_equal(field, 2);
    assert_true(bd_wire_get_sub(&in, &sub));
    assert_int_equal(in.left, 0);
    uint8_t block[64];
    size_t len = sub.left;
    bd_wire_reader copy = sub;
    assert_true(bd_wire_get_raw(&copy, block, len));
    Tensorflow__NamedTensorProto *p =
        bd_proto_unpack(&tensorflow__named_tensor_proto__descriptor, block, len, arena, st);
    assert_string_equal(p->name, "x:0");
    assert_true(p->tensor->float_val[0] == 2.5f);

    bd_named_tensor named;
    assert_int_equal(bd_named_tensor_read(&sub, &named, st), BRAID_OK);
    assert_string_equal(named.name, "x:0");
    assert_true(bd_tensor_f32(&named.tensor)[0] == 2.5f);
    bd_named_tensor_fini(&named);
    bd_named_tensor_fini(&named);
    bd_message_fini(&m);
}

#define MESSAGE(text) text, sizeof text - 1

static void malformed_named_tensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *words;
    } rows[] = {
        {MESSAGE(""), "NamedTensorProto '' has no tensor"},
        {MESSAGE("\x0a\x03x:0"), "NamedTensorProto 'x:0' has no tensor"},
        {MESSAGE("\x0a\x03x:"), "truncated name"},
        {MESSAGE("\x0a\x03x\0y"), "zero byte"},
        {MESSAGE("\x12\x02\x08\x18\x0a\x03x:0"), "tensor 'x:0': TensorProto has the unknown element type 24"},
        {MESSAGE("\x0a\x03x:0\x12\x05"), "truncated or malformed"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        bd_slice slice;
        bd_named_tensor named;
        bd_wire_reader in = bd_wire_reader_block(&slice, rows[i].bytes, rows[i].len);
        assert_int_equal(bd_named_tensor_read(&in, &named, st), BRAID_INVALID_ARGUMENT);
        if (!strstr(st->message, rows[i].words)) fail_msg("%s: no '%s'", st->message, rows[i].words);
        assert_null(named.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_tensors_survive_a_round_trip),
        cmocka_unit_test(malformed_named_tensors_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
