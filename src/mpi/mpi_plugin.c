// The plugin of the MPI engine (src/cluster/rpc/mpi_engine.h): non-blocking messages of bytes in
// MPI_COMM_WORLD.
//
// A message of more than PIECE_BYTES goes in pieces, one after the other: MPI's counts are ints. Both ranks
// know its size and cut it alike, and messages of one tag between two ranks arrive in order.
#include "cluster/rpc/mpi_plugin.h"
#include <mpi.h>
#include <string.h>

#define PIECE_BYTES ((size_t)1 << 30)

typedef struct request {
    bool is_used, is_send, is_broken; // is_broken: cancelled, or not as long as it should be
    char *data;                       // of the next piece
    size_t left;                      // bytes of the next pieces
    size_t piece_bytes;               // of the piece in progress
    int rank, tag;
} request;

static struct {
    request *requests;
    MPI_Request *pieces; // MPI_REQUEST_NULL where there is none
    int count;
    char error[MPI_MAX_ERROR_STRING + 1];
} plugin;

static const char *text_of(int code)
{
    int len = 0;
    if (code == MPI_SUCCESS) return NULL;
    if (MPI_Error_string(code, plugin.error, &len) != MPI_SUCCESS) strcpy(plugin.error, "an unknown error");
    return plugin.error;
}

static const char *init(int *rank, int *size)
{
    int is_initialized = 0, provided;
    MPI_Initialized(&is_initialized);
    if (is_initialized) return "the program itself uses MPI";
    const char *error = text_of(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    if (error) return error;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return provided >= MPI_THREAD_FUNNELED ? NULL : "it does not allow threads";
}

// ---- Requests ----

static void free_requests(void)
{
    if (plugin.count > 0) {
        MPI_Free_mem(plugin.requests);
        MPI_Free_mem(plugin.pieces);
    }
    plugin.count = 0;
}

static void finalize(void)
{
    free_requests();
    MPI_Finalize();
}

// Makes room for more requests. Returns false when there is no memory.
static bool grow(void)
{
    const int before = plugin.count, count = before ? 2 * before : 16;
    request *requests;
    MPI_Request *pieces;
    if (MPI_Alloc_mem((MPI_Aint)((size_t)count * sizeof *requests), MPI_INFO_NULL, &requests)) return false;
    if (MPI_Alloc_mem((MPI_Aint)((size_t)count * sizeof *pieces), MPI_INFO_NULL, &pieces)) {
        MPI_Free_mem(requests);
        return false;
    }
    for (int i = 0; i < count; i++) {
        requests[i] = i < before ? plugin.requests[i] : (request){0};
        pieces[i] = i < before ? plugin.pieces[i] : MPI_REQUEST_NULL;
    }
    free_requests();
    plugin.requests = requests;
    plugin.pieces = pieces;
    plugin.count = count;
    return true;
}

// A number that is not in use; -1: out of memory.
static int find_free(void)
{
    for (int i = 0; i < plugin.count; i++)
        if (!plugin.requests[i].is_used) return i;
    const int first_new = plugin.count;
    return grow() ? first_new : -1;
}

static int begin_piece(int number)
{
    request *r = &plugin.requests[number];
    MPI_Request *piece = &plugin.pieces[number];
    char *data = r->data;
    r->piece_bytes = r->left < PIECE_BYTES ? r->left : PIECE_BYTES;
    r->data += r->piece_bytes;
    r->left -= r->piece_bytes;
    const int count = (int)r->piece_bytes;
    return r->is_send ? MPI_Isend(data, count, MPI_BYTE, r->rank, r->tag, MPI_COMM_WORLD, piece)
                      : MPI_Irecv(data, count, MPI_BYTE, r->rank, r->tag, MPI_COMM_WORLD, piece);
}

static const char *begin(const request *r, int *number)
{
    *number = find_free();
    if (*number < 0) return "out of memory";
    plugin.requests[*number] = *r;
    const int code = begin_piece(*number);
    plugin.requests[*number].is_used = code == MPI_SUCCESS;
    return text_of(code);
}

static const char *send(const void *data, size_t bytes, int rank, int tag, int *number)
{
    const request r = {.is_send = true, .data = (char *)data, .left = bytes, .rank = rank, .tag = tag};
    return begin(&r, number);
}

static const char *receive(void *data, size_t bytes, int rank, int tag, int *number)
{
    const request r = {.data = data, .left = bytes, .rank = rank, .tag = tag};
    return begin(&r, number);
}

static void cancel(int number)
{
    if (plugin.pieces[number] != MPI_REQUEST_NULL) MPI_Cancel(&plugin.pieces[number]);
}

static void drop(int number)
{
    if (plugin.pieces[number] != MPI_REQUEST_NULL) MPI_Request_free(&plugin.pieces[number]);
    plugin.requests[number].is_used = false;
}

// ---- Progress ----

// A piece has been moved. Returns whether the message is over.
static bool end_piece(request *r, int number, int code, MPI_Status *status)
{
    int is_cancelled = 0, bytes = 0;
    r->is_broken = code != MPI_SUCCESS;
    if (!r->is_broken && !r->is_send) {
        MPI_Test_cancelled(status, &is_cancelled);
        if (!is_cancelled) MPI_Get_count(status, MPI_BYTE, &bytes);
        r->is_broken = is_cancelled || (size_t)bytes != r->piece_bytes;
    }
    if (r->is_broken || r->left == 0) return true;
    r->is_broken = begin_piece(number) != MPI_SUCCESS;
    return r->is_broken;
}

static bool test(int *number, bool *is_whole)
{
    int is_moved = 0;
    MPI_Status status;
    const int code = MPI_Testany(plugin.count, plugin.pieces, number, &is_moved, &status);
    if (!is_moved || *number == MPI_UNDEFINED) return false;
    request *r = &plugin.requests[*number];
    if (!end_piece(r, *number, code, &status)) return false;
    *is_whole = !r->is_broken;
    r->is_used = false;
    return true;
}

// BD_MPI_PLUGIN_SYMBOL
__attribute__((visibility("default"))) const struct bd_mpi_plugin braid_mpi_plugin = {
    .version = BD_MPI_PLUGIN_VERSION,
    .init = init,
    .finalize = finalize,
    .send = send,
    .receive = receive,
    .cancel = cancel,
    .drop = drop,
    .test = test,
};
