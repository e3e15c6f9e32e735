// Tests of the wire format: messages are read from any slices, and damage is an error.
#include "base/slab.h"
#include "base/wire.h"

#include "base/alloc.h"
#include "base/random.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// ---- Helpers ----

static uint8_t *block_of(const bd_message *m)
{
    uint8_t *block = bd_malloc(m->bytes);
    bd_message_gather(m, block);
    return block;
}

// The same bytes, each slice 0 to 8 bytes of borrowed memory; empty slices too, which bd_message_add would
// drop.
static void cut(bd_message *m, const uint8_t *data, size_t len, bd_rng *rng)
{
    bd_message_init(m);
    m->slices = bd_slab_alloc_raw((2 * len + 16) * sizeof *m->slices);
    m->slice_cap = 2 * len + 16;
    for (size_t at = 0; at < len;) {
        size_t piece = bd_rng_below(rng, 9);
        if (piece > len - at) piece = len - at;
        if (m->slice_count + 1 + (len - at) >= m->slice_cap && piece == 0) piece = 1;
        m->slices[m->slice_count++] = (bd_slice){.data = data + at, .len = piece};
        at += piece;
    }
    m->bytes = len;
}

static const uint64_t varints[] = {0,         1,          127,
                                   128,       300,        16383,
                                   16384,     UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                   INT64_MAX, UINT64_MAX, (uint64_t)-1 << 63};

static atomic_int released;

static void count_release(void *owner)
{
    assert_ptr_equal(owner, &released);
    released++;
}

static uint8_t big[3 * BD_WIRE_REF_MIN];

// Every kind of field, with a referenced block in the middle.
static void write_sample(bd_message *m)
{
    bd_wire_writer w;
    bd_message_init(m);
    bd_wire_writer_init(&w, m);
    for (size_t i = 0; i < sizeof varints / sizeof *varints; i++)
        bd_wire_put_uint(&w, 1, varints[i]);
    bd_wire_put_bytes(&w, 2, "hello", 5);
    bd_wire_put_bytes(&w, 2, "", 0);
    bd_wire_put_tag(&w, 3, BD_WIRE_BYTES);
    bd_wire_put_varint(&w, sizeof big);
    bd_wire_put_ref(&w,
                    (bd_slice){.data = big, .len = sizeof big, .release = count_release, .owner = &released});
    bd_wire_put_fixed64(&w, 4, 0x0123456789abcdef);
    bd_wire_put_tag(&w, 536870911, BD_WIRE_FIXED32);
    uint32_t word = 0xdeadbeef;
    bd_wire_put_raw(&w, &word, sizeof word);
    bd_wire_writer_finish(&w);
}

static void expect_field(bd_wire_reader *r, uint32_t field, bd_wire_type type)
{
    uint32_t f = 0;
    bd_wire_type t = BD_WIRE_VARINT;
    assert_true(bd_wire_next(r, &f, &t));
    assert_int_equal(f, field);
    assert_int_equal(t, type);
}

static void read_sample(bd_wire_reader r)
{
    for (size_t i = 0; i < sizeof varints / sizeof *varints; i++) {
        uint64_t value;
        expect_field(&r, 1, BD_WIRE_VARINT);
        assert_true(bd_wire_get_varint(&r, &value));
        assert_true(value == varints[i]);
    }
    size_t len = 99;
    expect_field(&r, 2, BD_WIRE_BYTES);
    char *text = bd_wire_get_string(&r, 5, &len);
    assert_string_equal(text, "hello");
    assert_int_equal(len, 5);
    bd_free(text);
    expect_field(&r, 2, BD_WIRE_BYTES);
    text = bd_wire_get_string(&r, 5, NULL);
    assert_string_equal(text, "");
    bd_free(text);

    bd_wire_reader sub;
    expect_field(&r, 3, BD_WIRE_BYTES);
    assert_true(bd_wire_get_sub(&r, &sub));
    assert_int_equal(sub.left, sizeof big);
    const uint8_t *piece;
    size_t at = 0;
    while (bd_wire_get_piece(&sub, &piece, &len)) {
        assert_memory_equal(piece, big + at, len);
        at += len;
    }
    assert_int_equal(at, sizeof big);
    assert_false(sub.failed);

    uint64_t wide;
    uint32_t word;
    expect_field(&r, 4, BD_WIRE_FIXED64);
    assert_true(bd_wire_get_fixed64(&r, &wide));
    assert_true(wide == 0x0123456789abcdef);
    expect_field(&r, 536870911, BD_WIRE_FIXED32);
    assert_true(bd_wire_get_fixed32(&r, &word));
    assert_int_equal(word, 0xdeadbeef);
    bd_wire_type type;
    assert_false(bd_wire_next(&r, &word, &type));
    assert_false(r.failed);
}

// Skips all fields. Returns true when the message is well formed.
static bool skip_all(bd_wire_reader r)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&r, &field, &type))
        bd_wire_skip(&r, type);
    return !r.failed;
}

// ---- Tests ----

static int fill_big(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (uint8_t)(i * 7 + (i >> 8));
    return 0;
}

static void messages_survive_a_round_trip(void **state)
{
    (void)state;
    bd_message m;
    released = 0;
    write_sample(&m);
    read_sample(bd_wire_reader_of(&m));
    assert_true(skip_all(bd_wire_reader_of(&m)));
    assert_int_equal(m.slice_count, 3); // head, reference, tail
    assert_int_equal(released, 0);
    bd_message_fini(&m);
    assert_int_equal(released, 1);
    assert_int_equal(m.bytes, 0);
    bd_message_fini(&m); // an empty message is fine
}

static void messages_are_read_from_any_slices(void **state)
{
    (void)state;
    bd_message m, pieces;
    write_sample(&m);
    uint8_t *block = block_of(&m);
    for (uint64_t seed = 0; seed < 50; seed++) {
        bd_rng rng = bd_rng_init(seed);
        cut(&pieces, block, m.bytes, &rng);
        read_sample(bd_wire_reader_of(&pieces));
        assert_true(skip_all(bd_wire_reader_of(&pieces)));
        bd_message_fini(&pieces);
    }
    bd_slice slice;
    read_sample(bd_wire_reader_block(&slice, block, m.bytes));
    bd_free(block);
    bd_message_fini(&m);
}

// A message that ends within a field is an error; one that ends between two fields is a shorter message.
static void a_truncated_field_is_an_error(void **state)
{
    (void)state;
    bd_message m;
    write_sample(&m);
    size_t len = m.bytes, ends = 0;
    uint8_t *block = block_of(&m);
    for (size_t cut_at = 0; cut_at <= len; cut_at++) {
        bd_slice slice;
        uint8_t *exact = bd_memdup(block, cut_at); // so that a sanitizer sees a read past the end
        ends += skip_all(bd_wire_reader_block(&slice, exact, cut_at));
        bd_free(exact);
    }
    assert_int_equal(ends, 1 + sizeof varints / sizeof *varints + 2 + 1 + 2);
    bd_free(block);
    bd_message_fini(&m);
}

static void malformed_fields_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const char *bytes;
        size_t len;
    } cases[] = {
        {"field 0", "\x02\x00", 2},
        {"group", "\x0b\x0c", 2},
        {"wire type 7", "\x0f", 1},
        {"tag beyond 32 bits", "\x80\x80\x80\x80\x80\x01", 6},
        {"varint of 11 bytes", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12},
        {"varint without an end", "\x08\xff", 2},
        {"length past the end", "\x0a\x05\x61", 3},
        {"length near 2^64", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x61", 12},
        {"short fixed32", "\x0d\x01\x02\x03", 4},
        {"short fixed64", "\x09\x01\x02\x03\x04\x05\x06\x07", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bd_slice slice;
        if (skip_all(bd_wire_reader_block(&slice, cases[i].bytes, cases[i].len)))
            fail_msg("%s", cases[i].what);
    }
}

static void strings_have_a_length_limit(void **state)
{
    (void)state;
    bd_slice slice;
    bd_wire_reader r = bd_wire_reader_block(&slice, "\x06secret", 7);
    assert_null(bd_wire_get_string(&r, 5, NULL));
    assert_true(r.failed);
}

// The reader of a submessage stops at its end, although the block continues.
static void a_submessage_reader_stops_at_its_end(void **state)
{
    (void)state;
    bd_slice slice;
    bd_wire_reader sub, r = bd_wire_reader_block(&slice, "\x02\x08\x96\x01\x05", 5);
    uint32_t field;
    uint64_t value;
    bd_wire_type type;
    assert_true(bd_wire_get_sub(&r, &sub));
    assert_true(bd_wire_next(&sub, &field, &type));
    assert_false(bd_wire_get_varint(&sub, &value));
    assert_true(sub.failed);
    assert_false(r.failed);
    assert_int_equal(r.left, 2);
}

static void moving_a_message_keeps_its_slices(void **state)
{
    (void)state;
    for (int count = 1; count < 3 * BD_MESSAGE_INLINE; count++) {
        bd_message from, to;
        bd_message_init(&from);
        for (int i = 0; i < count; i++)
            bd_message_add_copy(&from, &i, sizeof i);
        bd_message_move(&to, &from);
        assert_int_equal(from.bytes, 0);
        assert_int_equal(to.bytes, (size_t)count * sizeof(int));
        int values[3 * BD_MESSAGE_INLINE];
        bd_message_gather(&to, values);
        for (int i = 0; i < count; i++)
            assert_int_equal(values[i], i);
        bd_message_fini(&from);
        bd_message_fini(&to);
    }
}

static void varint_sizes_match_their_encoding(void **state)
{
    (void)state;
    assert_int_equal(bd_wire_varint_size(0), 1);
    assert_int_equal(bd_wire_varint_size(127), 1);
    assert_int_equal(bd_wire_varint_size(128), 2);
    assert_int_equal(bd_wire_varint_size(UINT32_MAX), 5);
    assert_int_equal(bd_wire_varint_size(UINT64_MAX), 10);
}

static void a_long_message_has_few_slices(void **state)
{
    (void)state;
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    for (uint64_t i = 0; i < 100000; i++)
        bd_wire_put_uint(&w, 1, i);
    bd_wire_writer_finish(&w);
    assert_true(m.slice_count < 20);
    bd_wire_reader r = bd_wire_reader_of(&m);
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t value;
        expect_field(&r, 1, BD_WIRE_VARINT);
        assert_true(bd_wire_get_varint(&r, &value));
        assert_int_equal(value, i);
    }
    bd_message_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_survive_a_round_trip),
        cmocka_unit_test(messages_are_read_from_any_slices),
        cmocka_unit_test(a_truncated_field_is_an_error),
        cmocka_unit_test(malformed_fields_are_errors),
        cmocka_unit_test(strings_have_a_length_limit),
        cmocka_unit_test(a_submessage_reader_stops_at_its_end),
        cmocka_unit_test(moving_a_message_keeps_its_slices),
        cmocka_unit_test(varint_sizes_match_their_encoding),
        cmocka_unit_test(a_long_message_has_few_slices),
    };
    return cmocka_run_group_tests(tests, fill_big, NULL);
}
