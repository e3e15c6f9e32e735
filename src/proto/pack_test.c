// Packing and unpacking of messages: malformed, too deep or too large ones are refused before they do harm.
#include "proto/pack.h"

#include "base/alloc.h"
#include "base/random.h"
#include "tensorflow/core/framework/attr_value.pb-c.h"
#include "tensorflow/core/framework/graph.pb-c.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// ---- Helpers ----

static void fill_node(Tensorflow__NodeDef *node, Tensorflow__NodeDef__AttrEntry *entry,
                      Tensorflow__AttrValue *value)
{
    tensorflow__node_def__init(node);
    tensorflow__node_def__attr_entry__init(entry);
    tensorflow__attr_value__init(value);
    value->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TYPE;
    value->type = TENSORFLOW__DATA_TYPE__DT_FLOAT;
    entry->key = "T";
    entry->value = value;
    node->name = "fc1/xw";
    node->op = "MatMul";
    node->n_attr = 1;
}

// `depth` nested messages; the field numbers, from the outermost in, are those of `fields` in turn.
static uint8_t *nested(const uint8_t *fields, size_t field_count, size_t depth, size_t *len)
{
    size_t cap = depth * 12 + 1, at = cap;
    uint8_t *block = bd_malloc(cap);
    for (size_t i = depth; i-- > 0;) {
        uint8_t head[12];
        size_t n = 0, inner = cap - at;
        head[n++] = (uint8_t)(fields[i % field_count] << 3 | BD_WIRE_BYTES);
        for (; inner >= 0x80; inner >>= 7)
            head[n++] = (uint8_t)(inner | 0x80);
        head[n++] = (uint8_t)inner;
        at -= n;
        memcpy(block + at, head, n);
    }
    *len = cap - at;
    memmove(block, block + at, *len);
    return block;
}

static void expect_refused(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
                           braid_code code, const char *words)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    assert_null(bd_proto_unpack(type, data, len, arena, st));
    assert_int_equal(st->code, code);
    assert_non_null(strstr(st->message, words));
}

// ---- Tests ----

static void messages_survive_a_round_trip(void **state)
{
    (void)state;
    Tensorflow__NodeDef node;
    Tensorflow__NodeDef__AttrEntry entry, *entries = &entry;
    Tensorflow__AttrValue value;
    fill_node(&node, &entry, &value);
    node.attr = &entries;

    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message m;
    bd_message_init(&m);
    bd_proto_pack_message(&node.base, &m);
    Tensorflow__NodeDef *back = bd_proto_unpack_message(&tensorflow__node_def__descriptor, &m, arena, st);
    assert_non_null(back);
    assert_string_equal(back->name, "fc1/xw");
    assert_string_equal(back->op, "MatMul");
    assert_string_equal(back->device, "");
    assert_int_equal(back->n_attr, 1);
    assert_string_equal(back->attr[0]->key, "T");
    assert_int_equal(back->attr[0]->value->value_case, TENSORFLOW__ATTR_VALUE__VALUE_TYPE);
    assert_int_equal(back->attr[0]->value->type, TENSORFLOW__DATA_TYPE__DT_FLOAT);
    bd_message_fini(&m);
}

static void an_empty_message_is_unpacked(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message m;
    bd_message_init(&m);
    assert_non_null(bd_proto_unpack_message(&tensorflow__graph_def__descriptor, &m, arena, st));
    assert_non_null(bd_proto_unpack(&tensorflow__graph_def__descriptor, NULL, 0, arena, st));
}

static void arena_is_reusable(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    uint8_t data[] = {0x0a, 0x03, 0x0a, 0x01, 'x'}; // GraphDef{node{name: "x"}}
    Tensorflow__GraphDef *first =
        bd_proto_unpack(&tensorflow__graph_def__descriptor, data, sizeof data, arena, st);
    for (int i = 0; i < 1000; i++) {
        Tensorflow__GraphDef *g =
            bd_proto_unpack(&tensorflow__graph_def__descriptor, data, sizeof data, arena, st);
        assert_non_null(g);
        assert_string_equal(g->node[0]->name, "x");
    }
    assert_string_equal(first->node[0]->name, "x"); // all live until the end
    bd_proto_arena_fini(arena);
    assert_non_null(bd_proto_unpack(&tensorflow__graph_def__descriptor, data, sizeof data, arena, st));
}

static void unknown_fields_pass_through(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    uint8_t data[] = {0x0a, 0x01, 'x', 0xfa, 0x06, 0x02, 'h', 'i'}; // name, and field 111
    Tensorflow__NodeDef *node =
        bd_proto_unpack(&tensorflow__node_def__descriptor, data, sizeof data, arena, st);
    assert_non_null(node);
    bd_message m;
    bd_message_init(&m);
    bd_proto_pack_message(&node->base, &m);
    assert_int_equal(m.bytes, sizeof data);
    uint8_t again[sizeof data];
    bd_message_gather(&m, again);
    assert_memory_equal(again, data, sizeof data);
    bd_message_fini(&m);
}

static void malformed_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\x0a", 1},         // no length
        {"\x0a\x05x", 3},    // length past the end
        {"\x0a\x01\x0a", 3}, // the same inside a node
        {"\x0b", 1},         // group
        {"\x00\x01", 2},     // field 0
        {"\xff\xff\xff\xff\xff\xff", 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(&tensorflow__graph_def__descriptor, cases[i].bytes, cases[i].len,
                       BRAID_INVALID_ARGUMENT, "GraphDef of ");
}

// Content of a bytes field that looks like nested messages is accepted.
static void bytes_may_look_nested(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    size_t len;
    static const uint8_t tensor_content[] = {4};
    uint8_t *block = nested(tensor_content, 1, 20000, &len);
    Tensorflow__TensorProto *tensor =
        bd_proto_unpack(&tensorflow__tensor_proto__descriptor, block, len, arena, st);
    assert_non_null(tensor);
    assert_true(tensor->tensor_content.len > 20000);
    bd_free(block);
}

// AttrValue{func{attr{value: AttrValue{...}}}}
static const uint8_t functions[] = {10, 2, 2};

static void nested_functions_have_a_depth_limit(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    size_t len;
    uint8_t *fine = nested(functions, 3, BD_WIRE_DEPTH_MAX, &len);
    assert_non_null(bd_proto_unpack(&tensorflow__attr_value__descriptor, fine, len, arena, st));
    bd_free(fine);
    uint8_t *deep = nested(functions, 3, BD_WIRE_DEPTH_MAX + 1, &len);
    expect_refused(&tensorflow__attr_value__descriptor, deep, len, BRAID_INVALID_ARGUMENT,
                   "AttrValue nests deeper than 100");
    bd_free(deep);
    uint8_t *bomb = nested(functions, 3, 20000, &len);
    expect_refused(&tensorflow__attr_value__descriptor, bomb, len, BRAID_INVALID_ARGUMENT, "nests deeper");
    bd_free(bomb);
}

// Each repetition of a singular message is merged with the previous ones, which takes more and more memory.
static void a_message_that_needs_too_much_memory_is_refused(void **state)
{
    (void)state;
    enum {
        COUNT = 20000
    };
    uint8_t *block = bd_malloc(COUNT * 4);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(block + 4 * i, "\x12\x02\x0a\x00", 4); // GraphDef{library{function{}}}
    expect_refused(&tensorflow__graph_def__descriptor, block, COUNT * 4, BRAID_RESOURCE_EXHAUSTED,
                   "out of memory");
    bd_free(block);
}

static void densest_message_fits(void **state)
{
    (void)state;
    enum {
        COUNT = 50000
    };
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    uint8_t *block = bd_malloc(COUNT * 2);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(block + 2 * i, "\x42\x00", 2); // ListValue{tensor{}}
    Tensorflow__AttrValue__ListValue *list =
        bd_proto_unpack(&tensorflow__attr_value__list_value__descriptor, block, COUNT * 2, arena, st);
    assert_non_null(list);
    assert_int_equal(list->n_tensor, COUNT);
    bd_free(block);
}

static void a_failed_allocation_is_an_error(void **state)
{
    (void)state;
    uint8_t data[] = {0x0a, 0x03, 0x0a, 0x01, 'x'};
    bd_alloc_fail_after(0);
    expect_refused(&tensorflow__graph_def__descriptor, data, sizeof data, BRAID_RESOURCE_EXHAUSTED,
                   "GraphDef");
    bd_alloc_fail_after(-1);
}

// ---- Split ----

struct feeds {
    int count;
    size_t bytes;
    braid_code answer;
};

static braid_code take_feed(bd_wire_reader *sub, void *arg, braid_status *st)
{
    struct feeds *feeds = arg;
    feeds->count++;
    feeds->bytes += sub->left;
    return feeds->answer ? bd_fail(st, feeds->answer, "no thanks") : BRAID_OK;
}

// RunStepRequest: session handle, two feeds, a fetch, a request id, in `pieces` random slices.
static void run_step_request(bd_message *m, bd_rng *rng)
{
    static const char bytes[] = "\x0a\x05"
                                "12345"
                                "\x12\x04\x0a\x02x:\x1a\x03y:0\x12\x06\x0a\x04zzzz\x40\x2a";
    bd_message_init(m);
    for (size_t at = 0; at < sizeof bytes - 1;) {
        size_t piece = 1 + bd_rng_below(rng, 9);
        if (piece > sizeof bytes - 1 - at) piece = sizeof bytes - 1 - at;
        bd_message_add(m, (bd_slice){.data = (const uint8_t *)bytes + at, .len = piece});
        at += piece;
    }
}

static void split_fields_are_read_without_a_copy(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        BD_STATUS(st);
        BD_PROTO_ARENA(arena);
        bd_rng rng = bd_rng_init(seed);
        bd_message m;
        run_step_request(&m, &rng);
        struct feeds feeds = {0};
        Tensorflow__RunStepRequest *request = bd_proto_unpack_split(
            &tensorflow__run_step_request__descriptor, &m, (bd_taken_field){2, take_feed, &feeds}, arena, st);
        assert_non_null(request);
        assert_int_equal(feeds.count, 2);
        assert_int_equal(feeds.bytes, 4 + 6);
        assert_int_equal(request->n_feed, 0);
        assert_string_equal(request->session_handle, "12345");
        assert_int_equal(request->n_fetch, 1);
        assert_string_equal(request->fetch[0], "y:0");
        assert_int_equal(request->request_id, 42);
        bd_message_fini(&m);
    }
}

static void split_passes_errors_on(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_rng rng = bd_rng_init(1);
    bd_message m;
    run_step_request(&m, &rng);
    struct feeds feeds = {.answer = BRAID_ABORTED};
    void *rest = &feeds;
    size_t len = 1;
    assert_int_equal(bd_wire_split(&m, &tensorflow__run_step_request__descriptor,
                                   (bd_taken_field){2, take_feed, &feeds}, &rest, &len, st),
                     BRAID_ABORTED);
    assert_int_equal(feeds.count, 1);
    assert_null(rest);
    assert_int_equal(len, 0);
    bd_message_fini(&m);
}

static void split_finds_damage_first(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_message m;
    bd_message_init(&m);
    bd_message_add_copy(&m, "\x12\x00\x12\x09", 4);
    struct feeds feeds = {0};
    void *rest;
    size_t len;
    assert_int_equal(bd_wire_split(&m, &tensorflow__run_step_request__descriptor,
                                   (bd_taken_field){2, take_feed, &feeds}, &rest, &len, st),
                     BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "RunStepRequest of 4 bytes is malformed"));
    assert_int_equal(feeds.count, 0);
    bd_message_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_survive_a_round_trip),
        cmocka_unit_test(an_empty_message_is_unpacked),
        cmocka_unit_test(arena_is_reusable),
        cmocka_unit_test(unknown_fields_pass_through),
        cmocka_unit_test(malformed_messages_are_refused),
        cmocka_unit_test(bytes_may_look_nested),
        cmocka_unit_test(nested_functions_have_a_depth_limit),
        cmocka_unit_test(a_message_that_needs_too_much_memory_is_refused),
        cmocka_unit_test(densest_message_fits),
        cmocka_unit_test(a_failed_allocation_is_an_error),
        cmocka_unit_test(split_fields_are_read_without_a_copy),
        cmocka_unit_test(split_passes_errors_on),
        cmocka_unit_test(split_finds_damage_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
