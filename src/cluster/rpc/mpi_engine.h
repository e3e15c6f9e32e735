// The engine for large tensors between the ranks of an MPI world: tasks that were started together by mpirun.
// Calls stay on gRPC; the bytes of a large tensor go from the sender's memory to the receiver's by MPI_Isend
// and MPI_Irecv, over whatever network MPI has found (InfiniBand, shared memory, TCP).
//
// The receiver of a tensor that the sender holds (tensor_chunks.h) posts the receive, and asks by SendByMpi
// for the message. So every message has its receive, and MPI buffers none.
//
// One thread of the process makes all calls of MPI. It sleeps while no message is in progress. MPI has no
// wait that an event of ours could end: while messages are in progress the thread tests them in turn, and
// yields the processor in between.
#ifndef BD_CLUSTER_RPC_MPI_ENGINE_H
#define BD_CLUSTER_RPC_MPI_ENGINE_H

#include "cluster/rpc/mpi_plugin.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The switch: "0" in this environment variable turns the engine off, "1" on, also between tasks with
// certificates; a path is that of the plugin.
#define BD_MPI_VARIABLE "BRAID_MPI"

typedef struct bd_mpi bd_mpi;

// An engine that is not started. `is_private`: the tasks speak TLS, and MPI does not encrypt; the engine then
// has to be turned on. NULL when it is off, when the plugin or MPI cannot be loaded, or when the process has
// had an engine before, because MPI starts once in a process; the log says why.
bd_mpi *bd_mpi_new(bool is_private);
bd_mpi *bd_mpi_new_with(const bd_mpi_plugin *plugin); // borrowed
// Starts MPI on a thread of its own, and returns before it is ready.
void bd_mpi_start(bd_mpi *m);
// Ends the messages in progress, then MPI: returns when all ranks of the world end it (MPI_Finalize). If some
// ranks have not started it within ten seconds, the thread is left behind with all memory of the engine. NULL
// is accepted.
void bd_mpi_end(bd_mpi *m);

// The number of ranks, once the engine is ready; 0: it is not, or NULL was given.
int bd_mpi_size(const bd_mpi *m);
int bd_mpi_rank(const bd_mpi *m); // of this process, then

// ---- Messages, of an engine that is ready ----

// `is_whole`: the message was moved. Otherwise it was cancelled, or MPI has failed.
typedef void (*bd_mpi_done_fn)(void *arg, bool is_whole);

// Names a message of this process.
uint64_t bd_mpi_next_id(bd_mpi *m);
#define BD_MPI_TAG_MAX 0x7fff // the highest tag that MPI guarantees
// The tag that the message of a receive has to have.
int bd_mpi_tag(uint64_t id);
// `fn` runs once, on the engine's thread. The memory is the engine's until then.
void bd_mpi_send(bd_mpi *m, uint64_t id, int rank, int tag, const void *data, size_t bytes, bd_mpi_done_fn fn,
                 void *arg);
void bd_mpi_receive(bd_mpi *m, uint64_t id, int rank, void *data, size_t bytes, bd_mpi_done_fn fn, void *arg);
// Ends a receive, unless its message is being moved. A send cannot be taken back: if it has not been received
// ten seconds later, or one second after bd_mpi_end, the engine forgets it. MPI may still use its memory, so
// `fn` then does not run. The id of a message that is over is accepted.
void bd_mpi_give_up(bd_mpi *m, uint64_t id);

#endif
