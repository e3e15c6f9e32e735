// Messages of MPI within this process. All functions of the plugin run on the engine's thread.
#include "cluster/rpc/testing/fake_mpi.h"
#include <string.h>

enum {
    REQUESTS = 8
};

typedef struct request {
    bool is_used, is_send, is_cancelled, is_moved;
    char *data;
    size_t bytes;
    int tag;
} request;

fake_mpi fake_mpi_world;
static request requests[REQUESTS];

void fake_mpi_set_up(void)
{
    memset(&fake_mpi_world, 0, sizeof fake_mpi_world);
    memset(requests, 0, sizeof requests);
    bd_event_init(&fake_mpi_world.may_start);
    bd_event_init(&fake_mpi_world.is_finalized);
}

void fake_mpi_tear_down(void)
{
    bd_event_fini(&fake_mpi_world.may_start);
    bd_event_fini(&fake_mpi_world.is_finalized);
}

static const char *init(int *rank, int *size)
{
    bd_event_wait(&fake_mpi_world.may_start);
    *rank = FAKE_MPI_RANK;
    *size = FAKE_MPI_RANKS;
    return fake_mpi_world.error;
}

static void finalize(void)
{
    bd_event_set(&fake_mpi_world.is_finalized);
}

static const char *begin(request r, int *number)
{
    if (fake_mpi_world.refuses) return "no such rank";
    *number = 0;
    while (requests[*number].is_used)
        ++*number;
    requests[*number] = r;
    return NULL;
}

static const char *send(const void *data, size_t bytes, int rank, int tag, int *number)
{
    (void)rank;
    return begin(
        (request){.is_used = true, .is_send = true, .data = (char *)data, .bytes = bytes, .tag = tag},
        number);
}

static const char *receive(void *data, size_t bytes, int rank, int tag, int *number)
{
    (void)rank;
    return begin((request){.is_used = true, .data = data, .bytes = bytes, .tag = tag}, number);
}

static void cancel(int number)
{
    requests[number].is_cancelled = true;
}

static void drop(int number)
{
    requests[number].is_used = false;
    fake_mpi_world.dropped++;
}

static void move_messages(void)
{
    for (request *s = requests; s < requests + REQUESTS; s++)
        for (request *r = requests; r < requests + REQUESTS; r++) {
            const bool is_pair = s->is_used && r->is_used && s->is_send && !r->is_send && s->tag == r->tag;
            if (!is_pair || s->is_moved || r->is_moved) continue;
            memcpy(r->data, s->data, r->bytes);
            s->is_moved = r->is_moved = true;
        }
}

static bool test(int *number, bool *is_whole)
{
    move_messages();
    for (*number = 0; *number < REQUESTS; ++*number) {
        request *r = &requests[*number];
        if (!r->is_used || (!r->is_moved && !r->is_cancelled)) continue;
        *is_whole = r->is_moved;
        r->is_used = false;
        return true;
    }
    return false;
}

const bd_mpi_plugin fake_mpi_plugin = {.version = BD_MPI_PLUGIN_VERSION,
                                       .init = init,
                                       .finalize = finalize,
                                       .send = send,
                                       .receive = receive,
                                       .cancel = cancel,
                                       .drop = drop,
                                       .test = test};
