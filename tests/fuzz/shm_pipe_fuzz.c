// Fuzzes calls through shared memory: the other process writes anything to the memory, at any time between
// the reading of frames and the sending of answers. Every frame that is read is within its limits.
#include "base/check.h"
#include "base/slab.h"
#include "cluster/transport/shm_pipe.h"
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_BYTES_MAX ((size_t)64 << 10)

typedef struct input {
    const uint8_t *data;
    size_t left;
} input;

static uint64_t take(input *in, size_t bytes)
{
    uint64_t value = 0;
    for (; bytes > 0 && in->left > 0; bytes--, in->data++, in->left--)
        value = value << 8 | *in->data;
    return value;
}

// Bytes of the input behind what the other process has written, or a position that is not one.
static void change(bd_shm_ring *ring, input *in)
{
    const size_t len = (size_t)bd_min((int64_t)take(in, 1), (int64_t)in->left);
    uint64_t at = atomic_load(&ring->written);
    for (size_t i = 0; i < len; i++)
        ring->bytes[(at + i) % BD_SHM_RING_BYTES] = in->data[i];
    in->data += len;
    in->left -= len;
    atomic_store(&ring->written, at + len);
}

// Returns whether the ring is still sound.
static bool read_one(bd_shm_pipe *p)
{
    const char *why;
    bd_shm_frame f = {0};
    bd_message_init(&f.body);
    bd_mutex_lock(&p->read_mu);
    const bd_shm_arrival got = bd_shm_pipe_read(p, &f, &why);
    bd_mutex_unlock(&p->read_mu);
    if (got == BD_SHM_FRAME) {
        BD_ASSERT(strlen(f.head) <= f.header.head_bytes && f.header.head_bytes <= BD_SHM_HEAD_BYTES_MAX);
        BD_ASSERT(f.body.bytes == f.header.body_bytes && f.body.bytes <= BODY_BYTES_MAX);
    }
    bd_shm_frame_fini(&f);
    return got != BD_SHM_BROKEN;
}

static bool answer(bd_shm_pipe *p, size_t bytes)
{
    uint8_t *data = bd_slab_alloc_raw(bytes + 1);
    memset(data, 7, bytes);
    bd_message body;
    bd_message_init(&body);
    bd_message_add(&body, (bd_slice){data, bytes, bd_slab_free, data});
    bd_shm_header header = {.kind = BD_SHM_RESPONSE, .id = 1};
    return bd_shm_pipe_send(p, &header, NULL, &body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    int segment_fd, bell_fd;
    BD_STATUS(st);
    bd_shm_segment *segment = bd_shm_create(sizeof *segment, &segment_fd, st);
    bd_shm_bell *bell = bd_shm_create(sizeof *bell, &bell_fd, st);
    BD_ASSERT(segment && bell);
    close(segment_fd);
    close(bell_fd);
    bd_shm_pipe p;
    bd_shm_pipe_init(&p);
    p.body_bytes_max = BODY_BYTES_MAX;
    bd_shm_pipe_open(&p, segment, bell, true);
    bool is_sound = true;
    while (is_sound && in.left > 0) {
        switch (take(&in, 1) % 8) {
        case 0: atomic_store(&segment->requests.written, take(&in, 8)); break;
        case 1: atomic_store(&segment->responses.read, take(&in, 8)); break;
        case 2: atomic_store(&segment->responses.wants_space, (unsigned)take(&in, 1)); break;
        case 3: is_sound = answer(&p, (size_t)take(&in, 3) % (3 * BD_SHM_RING_BYTES)); break;
        case 4: is_sound = bd_shm_pipe_flush(&p); break;
        case 5:
        case 6: change(&segment->requests, &in); break;
        default: is_sound = read_one(&p); break;
        }
        (void)bd_shm_pipe_is_ready(&p);
    }
    bd_shm_pipe_fini(&p);
    return 0;
}
