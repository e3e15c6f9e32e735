// The functions of MPI that the engine (mpi_engine.h) uses, as a library that it loads at run time: only this
// library is linked with MPI, so Braid runs where there is none. MPI's types differ from one implementation
// to the next and do not appear here.
#ifndef BD_CLUSTER_RPC_MPI_PLUGIN_H
#define BD_CLUSTER_RPC_MPI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

// Grows when the struct changes.
#define BD_MPI_PLUGIN_VERSION 1
// Its name in the library.
#define BD_MPI_PLUGIN_SYMBOL "braid_mpi_plugin"

// All functions are called by one thread. Errors are texts of MPI, valid until the next call; NULL: none.
typedef struct bd_mpi_plugin {
    int version;
    // MPI_Init, which returns when all ranks of the world have called it.
    const char *(*init)(int *rank, int *size);
    // MPI_Finalize, likewise. Drops requests that are left.
    void (*finalize)(void);
    // Begin to send or receive `bytes` bytes. *request is the number of the request, from 0; numbers of
    // requests that have ended are used again.
    const char *(*send)(const void *data, size_t bytes, int rank, int tag, int *request);
    const char *(*receive)(void *data, size_t bytes, int rank, int tag, int *request);
    // Ends a receive soon, unless its message has arrived.
    void (*cancel)(int request);
    // Forgets a request; its memory may still be used until the other rank has received.
    void (*drop)(int request);
    // Makes progress. Returns whether a request has ended: which one, and whether the whole message was
    // moved.
    bool (*test)(int *request, bool *is_whole);
} bd_mpi_plugin;

#endif
