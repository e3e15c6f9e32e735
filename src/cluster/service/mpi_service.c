// SendByMpi of ClusterService: a rank of this task's world waits for a tensor that is held for it.
#include "base/alloc.h"
#include "braid/cluster.pb-c.h"
#include "cluster/service/services.h"
#include <stdatomic.h>

// Replies once: when the message was sent, or when the caller is gone.
typedef struct sending {
    bd_incoming *call;
    bd_mpi *mpi;
    uint64_t id;
    braid_tensor tensor;
    atomic_bool has_replied;
    atomic_int refs; // of the message, of the call, and while the message is begun
} sending;

static void unref(sending *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    bd_tensor_fini(&s->tensor);
    bd_free(s);
}

static void reply(sending *s, const braid_status *st)
{
    if (!atomic_exchange(&s->has_replied, true)) bd_incoming_reply_status(s->call, st);
}

static void sent(void *arg, bool is_whole)
{
    sending *s = arg;
    BD_STATUS(st);
    if (!is_whole) bd_fail(st, BRAID_INTERNAL, "MPI has not sent the tensor");
    reply(s, st);
    unref(s);
}

static void ended(void *arg, bool cancelled)
{
    sending *s = arg;
    BD_STATUS(st);
    if (cancelled) {
        bd_fail(st, BRAID_CANCELLED, "the caller is gone");
        bd_mpi_give_up(s->mpi, s->id);
        reply(s, st);
    }
    unref(s);
}

static braid_code check(const bd_mpi *mpi, const Braid__SendByMpiRequest *request, braid_status *st)
{
    const int size = bd_mpi_size(mpi);
    if (size == 0) return bd_fail(st, BRAID_FAILED_PRECONDITION, "SendByMpi: this task has no MPI");
    if (request->rank >= 0 && request->rank < size && request->tag >= 0 && request->tag <= BD_MPI_TAG_MAX)
        return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "SendByMpi: rank %d of %d, tag %d", request->rank, size,
                   request->tag);
}

void bd_serve_send_by_mpi(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_mpi *mpi = env->peers->self->mpi;
    braid_tensor tensor = {0};
    const Braid__SendByMpiRequest *request =
        bd_proto_unpack_message(&braid__send_by_mpi_request__descriptor, &call->request, arena, st);
    if (request && !check(mpi, request, st) && !bd_chunk_store_take(env->chunk_store, request->id, &tensor))
        bd_fail(st, BRAID_ABORTED, "SendByMpi: the tensor is not held any more");
    if (!request || st->code) {
        bd_incoming_reply_error(call, st);
        return;
    }
    sending *s = bd_calloc(1, sizeof *s);
    s->call = call;
    s->mpi = mpi;
    s->id = bd_mpi_next_id(mpi);
    bd_tensor_move(&s->tensor, &tensor);
    atomic_init(&s->refs, 3);
    const void *data = s->tensor.data;
    const size_t bytes = bd_tensor_bytes(&s->tensor);
    call->transport->on_end(call, ended, s);
    bd_mpi_send(mpi, s->id, request->rank, request->tag, data, bytes, sent, s);
    if (atomic_load(&s->has_replied))
        bd_mpi_give_up(mpi, s->id); // the call may have ended before the message began
    unref(s);
}
