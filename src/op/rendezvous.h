// The rendezvous interface: where tensors are handed from Send to Recv by key, within a process or between
// tasks.
#ifndef BD_OP_RENDEZVOUS_H
#define BD_OP_RENDEZVOUS_H

#include "base/status.h"
#include "tensor/tensor.h"
#include <stdatomic.h>

// SRC_DEVICE;SRC_INCARNATION_HEX;DST_DEVICE;EDGE_NAME;FRAME_ID:ITER_ID, both devices in full form.
typedef struct bd_rendezvous_key {
    const char *text; // zero-terminated; owned by the maker of the key
    size_t len;
    uint64_t hash;      // of the text
    bool is_pulled;     // the receiver asks for the tensor; it is never pushed
    bool is_for_client; // the client feeds or fetches the tensor
} bd_rendezvous_key;

// Builds the text of a key into new memory (bd_free).
char *bd_rendezvous_key_format(const char *src_device, uint64_t src_incarnation, const char *dst_device,
                               const char *edge, uint64_t frame, int64_t iteration);
// Makes a key over `text` (borrowed): length and hash.
bd_rendezvous_key bd_rendezvous_key_of(const char *text);

// Its parts, as pieces of the text.
typedef struct bd_rendezvous_parsed_key {
    const char *src_device, *dst_device, *edge;
    size_t src_device_len, dst_device_len, edge_len;
    uint64_t src_incarnation;
} bd_rendezvous_parsed_key;
// InvalidArgument for a text that is no key.
braid_code bd_rendezvous_key_parse(const char *text, size_t len, bd_rendezvous_parsed_key *parsed,
                                   braid_status *st);

// Called exactly once for each receive, on any thread, without a lock: with the tensor (borrowed for the
// call; take it with bd_tensor_ref or bd_tensor_move) and whether it is dead, or with the error.
typedef void (*bd_recv_fn)(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st);

typedef struct bd_rendezvous bd_rendezvous;
typedef struct bd_rendezvous_ops {
    // Sends a tensor (one more reference is taken; `tensor` stays the caller's). Never blocks. Aborted when
    // the rendezvous is aborted.
    braid_code (*send)(bd_rendezvous *r, const bd_rendezvous_key *key, const braid_tensor *tensor,
                       bool is_dead, braid_status *st);
    // Asks for the tensor of `key` (borrowed for the call); `fn` may run before this returns.
    void (*recv)(bd_rendezvous *r, const bd_rendezvous_key *key, bd_recv_fn fn, void *arg);
    // Sends the tensors that were held back in order to be sent together; NULL: tensors are not held back. A
    // sending thread calls it when it runs out of work, and before a long computation.
    void (*flush)(bd_rendezvous *r);
    // Fails every waiting and every later send and receive with `why`.
    void (*abort)(bd_rendezvous *r, const braid_status *why);
    void (*destroy)(bd_rendezvous *r);
} bd_rendezvous_ops;

struct bd_rendezvous {
    const bd_rendezvous_ops *ops;
    atomic_int refs;
};

static inline bd_rendezvous *bd_rendezvous_ref(bd_rendezvous *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}
static inline void bd_rendezvous_unref(bd_rendezvous *r)
{
    if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) r->ops->destroy(r);
}

#endif
