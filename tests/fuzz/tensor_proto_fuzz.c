// Fuzzes reading of TensorProto and NamedTensorProto: a message that is read is written and read back as the
// same bytes.
#include "base/alloc.h"
#include "base/check.h"
#include "base/random.h"
#include "tensor/named_tensor.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Cuts the bytes into slices whose lengths the first bytes determine.
static void cut(bd_message *m, const uint8_t *data, size_t size)
{
    bd_rng rng = bd_rng_init(size ? data[0] : 0);
    bd_message_init(m);
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = 1 + bd_rng_below(&rng, 64);
        if (piece > size - at) piece = size - at;
        bd_message_add(m, (bd_slice){.data = data + at, .len = piece});
    }
}

static void *written(const braid_tensor *t, size_t *len)
{
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_tensor_proto_write(t, &w);
    bd_wire_writer_finish(&w);
    BD_ASSERT(m.bytes == bd_tensor_proto_size(t));
    *len = m.bytes;
    void *block = bd_malloc(m.bytes);
    bd_message_gather(&m, block);
    bd_message_fini(&m);
    return block;
}

static void check_tensor(const braid_tensor *t)
{
    BD_STATUS(st);
    braid_tensor back;
    size_t len, again_len;
    void *block = written(t, &len);
    braid_code code = bd_tensor_proto_parse(block, len, &back, st);
    if (code == BRAID_RESOURCE_EXHAUSTED) { // there is room for one of these tensors, not for two
        bd_free(block);
        return;
    }
    BD_ASSERT(code == BRAID_OK);
    void *again = written(&back, &again_len);
    BD_ASSERT(len == again_len && memcmp(block, again, len) == 0);
    bd_tensor_fini(&back);
    bd_free(block);
    bd_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bd_message m;
    braid_tensor t;
    bd_named_tensor named;
    BD_STATUS(st);
    bd_buffer_pool_set_limit((size_t)1 << 20); // small messages may stand for large tensors
    cut(&m, data, size);
    bd_wire_reader in = bd_wire_reader_of(&m);
    if (!bd_tensor_proto_read(&in, &t, st)) check_tensor(&t);
    bd_tensor_fini(&t);
    in = bd_wire_reader_of(&m);
    if (!bd_named_tensor_read(&in, &named, st)) check_tensor(&named.tensor);
    bd_named_tensor_fini(&named);
    bd_message_fini(&m);
    return 0;
}
