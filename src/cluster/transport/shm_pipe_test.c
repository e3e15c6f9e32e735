// Tests of rings and pipes: bytes and frames pass whole, whatever their sizes; what the other process may
// have written is checked.
#include "base/alloc.h"
#include "base/random.h"
#include "base/slab.h"
#include "cluster/transport/shm_pipe.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

// Both ends of a link in one process.
typedef struct ends {
    bd_shm_pipe client, server;
    bd_shm_segment *segment; // a third mapping: what the other process can do
} ends;

static void *map_again(int fd, size_t bytes)
{
    BD_STATUS(st);
    void *memory = bd_shm_map(fd, bytes, st);
    assert_non_null(memory);
    return memory;
}

static int set_up(void **state)
{
    ends *e = bd_calloc(1, sizeof *e);
    int segment_fd, bell_fd;
    BD_STATUS(st);
    bd_shm_segment *segment = bd_shm_create(sizeof *segment, &segment_fd, st);
    bd_shm_bell *bell = bd_shm_create(sizeof *bell, &bell_fd, st);
    assert_true(segment && bell);
    bd_shm_pipe_init(&e->client);
    bd_shm_pipe_init(&e->server);
    bd_shm_pipe_open(&e->server, segment, bell, true);
    bd_shm_pipe_open(&e->client, map_again(segment_fd, sizeof *segment), map_again(bell_fd, sizeof *bell),
                     false);
    e->segment = map_again(segment_fd, sizeof *segment);
    close(segment_fd);
    close(bell_fd);
    *state = e;
    return 0;
}

static int tear_down(void **state)
{
    ends *e = *state;
    bd_shm_pipe_fini(&e->client);
    bd_shm_pipe_fini(&e->server);
    bd_shm_unmap(e->segment, sizeof *e->segment);
    bd_free(e);
    return 0;
}

static bd_shm_arrival read_frame(bd_shm_pipe *p, bd_shm_frame *f, const char **why)
{
    *f = (bd_shm_frame){0};
    bd_message_init(&f->body);
    bd_mutex_lock(&p->read_mu);
    const bd_shm_arrival got = bd_shm_pipe_read(p, f, why);
    bd_mutex_unlock(&p->read_mu);
    return got;
}

static uint8_t byte_of(uint64_t id, size_t at)
{
    return (uint8_t)((id * 31 + at) * 2654435761U >> 11);
}

static void send_numbered(bd_shm_pipe *p, uint64_t id, size_t bytes)
{
    static const char method[] = "/test/Method";
    uint8_t *data = bd_slab_alloc_raw(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_of(id, i);
    bd_message body;
    bd_message_init(&body);
    bd_message_add(&body, (bd_slice){data, bytes, bd_slab_free, data});
    bd_shm_header header = {.kind = BD_SHM_REQUEST, .id = id, .head_bytes = strlen(method)};
    assert_true(bd_shm_pipe_send(p, &header, method, &body));
    assert_int_equal(body.bytes, 0);
}

static void assert_numbered(bd_shm_frame *f, uint64_t id, size_t bytes)
{
    assert_int_equal(f->header.id, id);
    assert_string_equal(f->head, "/test/Method");
    assert_int_equal(f->body.bytes, bytes);
    uint8_t *data = bd_malloc(bytes + 1);
    bd_message_gather(&f->body, data);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(data[i], byte_of(id, i));
    bd_free(data);
    bd_shm_frame_fini(f);
}

static void frames_of_all_sizes_pass_in_their_order(void **state)
{
    ends *e = *state;
    bd_rng rng = bd_rng_init(7);
    enum {
        FRAMES = 400
    };
    size_t sizes[FRAMES];
    uint64_t sent = 0, got = 0;
    const char *why;
    while (got < FRAMES) {
        // Some are sent before any is read: they wait for space.
        const uint64_t burst = 1 + bd_rng_below(&rng, 6);
        for (uint64_t i = 0; i < burst && sent < FRAMES; i++, sent++) {
            sizes[sent] = bd_rng_below(&rng, 1 + ((uint64_t)1 << bd_rng_below(&rng, 21)));
            send_numbered(&e->client, sent, sizes[sent]);
        }
        while (got < sent) {
            bd_shm_frame f;
            const bd_shm_arrival came = read_frame(&e->server, &f, &why);
            assert_int_not_equal(came, BD_SHM_BROKEN);
            if (came == BD_SHM_FRAME) assert_numbered(&f, got, sizes[got]), got++;
            assert_true(bd_shm_pipe_flush(&e->client));
        }
    }
    assert_false(bd_shm_pipe_is_ready(&e->server));
    assert_false(bd_shm_pipe_is_ready(&e->client));
}

static void a_part_of_a_header_is_waited_for(void **state)
{
    ends *e = *state;
    bd_shm_frame f;
    const char *why;
    assert_int_equal(read_frame(&e->server, &f, &why), BD_SHM_NOTHING);
    e->segment->requests.written = sizeof(bd_shm_header) - 1;
    assert_false(bd_shm_pipe_is_ready(&e->server)); // it would poll for ever
    assert_int_equal(read_frame(&e->server, &f, &why), BD_SHM_NOTHING);
}

static void put_header(ends *e, const bd_shm_header *header)
{
    memcpy(e->segment->requests.bytes, header, sizeof *header);
    e->segment->requests.written = sizeof *header;
}

static void assert_broken(ends *e, const char *expected)
{
    bd_shm_frame f;
    const char *why = NULL;
    assert_int_equal(read_frame(&e->server, &f, &why), BD_SHM_BROKEN);
    assert_string_equal(why, expected);
}

static void a_frame_of_no_kind_is_refused(void **state)
{
    put_header(*state, &(bd_shm_header){.kind = 77});
    assert_broken(*state, "a frame of no known kind");
}

static void a_text_has_a_maximum_length(void **state)
{
    put_header(*state, &(bd_shm_header){.kind = BD_SHM_REQUEST, .head_bytes = UINT64_MAX});
    assert_broken(*state, "a frame with a text that is too long");
}

static void a_message_has_a_maximum_length(void **state)
{
    ends *e = *state;
    e->server.body_bytes_max = 1000;
    put_header(e, &(bd_shm_header){.kind = BD_SHM_REQUEST, .body_bytes = 1001});
    assert_broken(e, "a message that is too large");
}

static void a_message_for_which_there_is_no_memory_is_refused(void **state)
{
    ends *e = *state;
    put_header(e, &(bd_shm_header){.kind = BD_SHM_REQUEST, .body_bytes = SIZE_MAX / 2});
    assert_broken(e, "a message for which there is no memory");
    // Another thread may try to go on.
    e->segment->requests.written = 2 * sizeof(bd_shm_header);
    bd_shm_frame f;
    const char *why;
    assert_int_equal(read_frame(&e->server, &f, &why), BD_SHM_NOTHING);
}

static void an_end_whose_answers_are_not_read_reads_no_more(void **state)
{
    ends *e = *state;
    e->server.waiting_bytes_max = BD_SHM_RING_BYTES;
    send_numbered(&e->client, 1, 100);
    assert_true(bd_shm_pipe_is_ready(&e->server));
    for (uint64_t i = 0; i < 4; i++)
        send_numbered(&e->server, i, BD_SHM_RING_BYTES);
    assert_false(bd_shm_pipe_is_ready(&e->server));
    const char *why;
    for (uint64_t got = 0; got < 4;) {
        bd_shm_frame f;
        if (read_frame(&e->client, &f, &why) == BD_SHM_FRAME) assert_numbered(&f, got++, BD_SHM_RING_BYTES);
        assert_true(bd_shm_pipe_flush(&e->server));
    }
    assert_true(bd_shm_pipe_is_ready(&e->server));
}

static void positions_outside_of_the_ring_are_refused(void **state)
{
    ends *e = *state;
    e->segment->requests.written = BD_SHM_RING_BYTES + 1;
    assert_true(bd_shm_pipe_is_ready(&e->server));
    assert_broken(e, "a position outside of the ring");
    e->segment->requests.read = 1; // more than was written
    bd_shm_header header = {.kind = BD_SHM_CANCEL, .id = 1};
    assert_false(bd_shm_pipe_send(&e->client, &header, NULL, NULL));
}

static void memory_that_can_shrink_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, sizeof(bd_shm_bell)), 0);
    assert_null(bd_shm_map(fd, sizeof(bd_shm_bell), st));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_null(bd_shm_map(fd, sizeof(bd_shm_bell) + 1, st));
    void *memory = bd_shm_map(fd, sizeof(bd_shm_bell), st);
    assert_non_null(memory);
    bd_shm_unmap(memory, sizeof(bd_shm_bell));
    close(fd);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(frames_of_all_sizes_pass_in_their_order),
        TEST(a_part_of_a_header_is_waited_for),
        TEST(a_frame_of_no_kind_is_refused),
        TEST(a_text_has_a_maximum_length),
        TEST(a_message_has_a_maximum_length),
        TEST(a_message_for_which_there_is_no_memory_is_refused),
        TEST(an_end_whose_answers_are_not_read_reads_no_more),
        TEST(positions_outside_of_the_ring_are_refused),
        cmocka_unit_test(memory_that_can_shrink_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
