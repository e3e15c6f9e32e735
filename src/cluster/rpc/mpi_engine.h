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

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

// The switch: "0" in this environment variable turns the engine off; a path names the plugin.
#define BD_MPI_VARIABLE "BRAID_MPI"
// Smaller tensors take less time within the messages than the call that asks for them.
#define BD_MPI_MIN ((size_t)256 << 10)

typedef struct bd_mpi bd_mpi;

// Starts MPI on a thread of its own, and returns before it is ready. NULL when it is turned off, when the
// plugin or MPI cannot be loaded (the log says why), or when the process has had an engine before: MPI starts
// once in a process.
bd_mpi *bd_mpi_start(void);
// Ends the messages in progress, then MPI: returns when all ranks of the world end it (MPI_Finalize). An
// engine that has never been ready is left alone. NULL is accepted.
void bd_mpi_end(bd_mpi *m);

// The number of ranks, once the engine is ready; 0: it is not.
int bd_mpi_size(const bd_mpi *m);
int bd_mpi_rank(const bd_mpi *m); // of this process, then

// `is_whole`: the message was moved. Otherwise it was cancelled, or MPI has failed.
typedef void (*bd_mpi_done_fn)(void *arg, bool is_whole);

#define BD_MPI_TAG_MAX 0x7fff // the highest tag that MPI guarantees
// A tag for a receive, which no other one in progress has.
int bd_mpi_next_tag(bd_mpi *m);
// Of an engine that is ready. `fn` runs once, on the engine's thread. The memory is the engine's until then.
void bd_mpi_send(bd_mpi *m, int rank, int tag, const void *data, size_t bytes, bd_mpi_done_fn fn, void *arg);
void bd_mpi_receive(bd_mpi *m, int rank, int tag, void *data, size_t bytes, bd_mpi_done_fn fn, void *arg);
// Ends the receive with this tag, unless its message is being moved. A tag that is not in use is accepted.
void bd_mpi_cancel_receive(bd_mpi *m, int tag);
// The receiver of this send may have given up. MPI cannot take a message back: if it has not been received
// some seconds later, the engine forgets it, and keeps its memory for good, since MPI may still use it: `fn`
// then does not run.
void bd_mpi_abandon_send(bd_mpi *m, const void *arg);

#endif
