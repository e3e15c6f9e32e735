// Messages of Braid as byte buffers of gRPC and back, without a copy of large pieces.
#include "base/slab.h"
#include "cluster/transport/grpc_internal.h"
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <string.h>

// A piece this short is cheaper copied into gRPC's own memory than referenced.
#define COPY_MAX 256

// ---- Sending ----

typedef struct sent_slice {
    bd_slice slice;
} sent_slice;

static void release_sent(void *arg)
{
    sent_slice *sent = arg;
    bd_tsan_acquire(sent);
    if (sent->slice.release) sent->slice.release(sent->slice.owner);
    bd_slab_free(sent);
}

static grpc_slice to_grpc(const bd_slice *slice)
{
    if (slice->len <= COPY_MAX) {
        const grpc_slice copy = grpc_slice_from_copied_buffer((const char *)slice->data, slice->len);
        if (slice->release) slice->release(slice->owner);
        return copy;
    }
    sent_slice *sent = bd_slab_alloc_raw(sizeof *sent);
    sent->slice = *slice;
    bd_tsan_release(sent); // gRPC's counting of references lies between here and release_sent
    return grpc_slice_new_with_user_data((void *)slice->data, slice->len, release_sent, sent);
}

#define SLICES_ON_STACK 16

grpc_byte_buffer *bd_grpc_from_message(bd_message *m)
{
    grpc_slice few[SLICES_ON_STACK];
    grpc_slice *slices = m->slice_count <= SLICES_ON_STACK ? few : bd_malloc(m->slice_count * sizeof *slices);
    for (size_t i = 0; i < m->slice_count; i++) {
        slices[i] = to_grpc(&m->slices[i]);
        m->slices[i].release = NULL;
    }
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(slices, m->slice_count);
    for (size_t i = 0; i < m->slice_count; i++)
        grpc_slice_unref(slices[i]);
    if (slices != few) bd_free(slices);
    bd_message_fini(m);
    return buffer;
}

// ---- Receiving ----

// A received byte buffer, shared by the slices that lie in it.
typedef struct received {
    grpc_byte_buffer *buffer;
    atomic_size_t refs;
} received;

static void release_received(void *arg)
{
    received *r = arg;
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    grpc_byte_buffer_destroy(r->buffer);
    bd_slab_free(r);
}

void bd_grpc_to_message(grpc_byte_buffer *buffer, bd_message *m)
{
    const grpc_slice_buffer *slices = &buffer->data.raw.slice_buffer;
    received *r = bd_slab_alloc_raw(sizeof *r);
    r->buffer = buffer;
    atomic_init(&r->refs, slices->count + 1);
    for (size_t i = 0; i < slices->count; i++)
        bd_message_add(m, (bd_slice){.data = GRPC_SLICE_START_PTR(slices->slices[i]),
                                     .len = GRPC_SLICE_LENGTH(slices->slices[i]),
                                     .release = release_received,
                                     .owner = r});
    release_received(r);
}

// ---- Error messages ----

// By default clients refuse headers of more than 8 KB. A character that is not printable ASCII takes three
// bytes.
#define ERROR_ENCODED_MAX 6000

grpc_slice bd_grpc_error_message(const char *text)
{
    size_t len = 0, encoded = 0;
    for (; text[len]; len++) {
        encoded += text[len] < ' ' || text[len] > '~' || text[len] == '%' ? 3 : 1;
        if (encoded > ERROR_ENCODED_MAX) break;
    }
    if (!text[len]) return grpc_slice_from_copied_buffer(text, len);
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    static const char more[] = "...";
    grpc_slice cut = grpc_slice_malloc(len + strlen(more));
    memcpy(GRPC_SLICE_START_PTR(cut), text, len);
    memcpy(GRPC_SLICE_START_PTR(cut) + len, more, strlen(more));
    return cut;
}
