// Sending tensors in chunks: which tensors are stored, for how long, and requests for chunks that do not
// exist.
#include "cluster/rpc/tensor_chunks.h"
#include "cluster/rpc/wire_fields.h"

#include "base/alloc.h"
#include "tensor/shape.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    bd_timers *timers;
    bd_chunk_store *held;
    braid_tensor tensor;
    bd_message head; // the description and the first chunk
    uint64_t id;
    uint8_t *bytes; // put together
} fixture;

// Beyond two chunks of 1 MB, and not a whole number of them.
#define FLOATS (600 * 1024 + 3)
// Room for two of these tensors.
#define BYTES_MAX ((size_t)5 << 20)
#define STEP 5

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    assert_int_equal(bd_timers_new(&f->timers, st), BRAID_OK);
    f->held = bd_chunk_store_new(f->timers, BYTES_MAX);
    const braid_shape shape = bd_shape1(FLOATS);
    assert_true(bd_tensor_alloc(&f->tensor, BRAID_FLOAT, &shape));
    for (int i = 0; i < FLOATS; i++)
        bd_tensor_f32(&f->tensor)[i] = (float)i;
    bd_message_init(&f->head);
    f->bytes = bd_calloc(1, bd_tensor_bytes(&f->tensor));
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &f->head);
    assert_true(bd_tensor_is_chunked(&f->tensor, NULL));
    assert_true(bd_chunk_store_put(f->held, STEP, &f->tensor, NULL, &writer));
    bd_wire_writer_finish(&writer);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_message_fini(&f->head);
    bd_chunk_store_free(f->held);
    bd_timers_free(f->timers);
    bd_tensor_fini(&f->tensor);
    bd_free(f->bytes);
    bd_free(f);
    return 0;
}

// The id and the first chunk; returns its length.
static size_t read_head(fixture *f)
{
    bd_wire_reader in = bd_wire_reader_of(&f->head), sub;
    uint32_t field;
    bd_wire_type type;
    size_t len = 0;
    while (bd_wire_next(&in, &field, &type)) {
        assert_true(bd_wire_get_sub(&in, &sub));
        if (field == BD_RECV_FIRST_CHUNK) {
            len = sub.left;
            bd_wire_get_raw(&sub, f->bytes, len);
        } else if (field == BD_RECV_CHUNKS && bd_wire_next(&sub, &field, &type) && field == 1) {
            bd_wire_get_fixed64(&sub, &f->id);
        }
    }
    return len;
}

static braid_code get(fixture *f, uint64_t chunk, size_t *at)
{
    BD_STATUS(st);
    bd_message message;
    bd_message_init(&message);
    Braid__RecvChunkRequest request = BRAID__RECV_CHUNK_REQUEST__INIT;
    request.id = f->id;
    request.chunk = chunk;
    const braid_code code = bd_chunk_store_get(f->held, &request, &message, st);
    if (!code) {
        assert_in_range(*at + message.bytes, 1, bd_tensor_bytes(&f->tensor));
        bd_message_gather(&message, f->bytes + *at);
        *at += message.bytes;
    }
    bd_message_fini(&message);
    return code;
}

static void chunks_make_the_tensor_and_are_then_forgotten(void **state)
{
    fixture *f = *state;
    const size_t chunk_bytes = read_head(f);
    size_t at = chunk_bytes, again = chunk_bytes;
    assert_int_equal(get(f, 1, &at), BRAID_OK);
    assert_int_equal(get(f, 1, &again), BRAID_OK); // a repeated request counts once
    assert_int_equal(get(f, 3, &at), BRAID_OUT_OF_RANGE);
    assert_int_equal(get(f, UINT64_MAX, &at), BRAID_OUT_OF_RANGE);
    assert_int_equal(get(f, 2, &at), BRAID_OK);
    assert_int_equal(at, bd_tensor_bytes(&f->tensor));
    assert_memory_equal(f->bytes, f->tensor.data, at);
    assert_int_equal(get(f, 2, &at), BRAID_ABORTED);
}

static void held_tensors_are_freed_with_the_server(void **state)
{
    fixture *f = *state;
    size_t at = read_head(f);
    assert_int_equal(get(f, 1, &at), BRAID_OK);
}

// Holds the tensor once more, for a step.
static bool put(fixture *f, int64_t step_id)
{
    bd_message message;
    bd_message_init(&message);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &message);
    const bool is_held = bd_chunk_store_put(f->held, step_id, &f->tensor, NULL, &writer);
    bd_wire_writer_finish(&writer);
    assert_int_equal(message.bytes > 0, is_held);
    bd_message_fini(&message);
    return is_held;
}

static void held_chunks_have_a_limit(void **state)
{
    fixture *f = *state;
    size_t at = read_head(f);
    assert_true(put(f, STEP));
    assert_false(put(f, STEP));
    assert_int_equal(get(f, 1, &at), BRAID_OK);
    assert_int_equal(get(f, 2, &at), BRAID_OK);
    assert_true(put(f, STEP)); // instead of the one that was fetched
    assert_false(put(f, STEP));
}

static void one_tensor_of_any_size_is_held(void **state)
{
    fixture *f = *state;
    bd_chunk_store_free(f->held);
    f->held = bd_chunk_store_new(f->timers, 1);
    assert_true(put(f, STEP));
    assert_false(put(f, STEP));
}

static void a_step_takes_its_tensors_along(void **state)
{
    fixture *f = *state;
    size_t at = read_head(f);
    assert_true(put(f, STEP + 1));
    bd_chunk_store_drop(f->held, STEP);
    assert_int_equal(get(f, 1, &at), BRAID_ABORTED);
    assert_true(put(f, STEP + 2));
    assert_false(put(f, STEP + 2)); // that of the other step is still held
    bd_chunk_store_drop(f->held, STEP);
}

static void small_tensors_and_strings_are_not_cut_into_chunks(void **state)
{
    (void)state;
    const braid_shape small = bd_shape1(1024), large = bd_shape1(3 << 20);
    braid_tensor t;
    assert_true(bd_tensor_alloc(&t, BRAID_FLOAT, &small));
    assert_false(bd_tensor_is_chunked(&t, NULL));
    bd_tensor_fini(&t);
    assert_true(bd_tensor_alloc(&t, BRAID_STRING, &large));
    assert_false(bd_tensor_is_chunked(&t, NULL));
    bd_tensor_fini(&t);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chunks_make_the_tensor_and_are_then_forgotten),
        TEST(held_tensors_are_freed_with_the_server),
        TEST(held_chunks_have_a_limit),
        TEST(one_tensor_of_any_size_is_held),
        TEST(a_step_takes_its_tensors_along),
        cmocka_unit_test(small_tensors_and_strings_are_not_cut_into_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
