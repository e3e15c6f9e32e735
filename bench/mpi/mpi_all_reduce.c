// MPI_Allreduce of Open MPI as a peer: `mpi_all_reduce TASKS BYTES`. It starts itself under mpirun; rank 0
// answers.
#include "../bench.h"
#include <mpi.h>
#include <poll.h>
#include <unistd.h>

static void start_ranks(char **argv)
{
    const char *const root = geteuid() == 0 ? "--allow-run-as-root" : "--quiet";
    execlp("mpirun", "mpirun", "--oversubscribe", root, "-n", argv[1], argv[0], argv[1], argv[2],
           (char *)NULL);
    bench_check(0, "mpirun", "cannot be started (apt install openmpi-bin)");
}

// Rank 0 tells the others how many steps come next; 0: none. MPI itself would wait for that with a loop that
// takes a processor from the other programs of the benchmark.
static long next_steps(int rank)
{
    long steps = 0;
    int has_come = 0;
    MPI_Request request;
    if (rank == 0 && !bench_next(&steps)) steps = 0;
    MPI_Ibcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
        if (has_come) return steps;
        poll(NULL, 0, 1);
    }
}

int main(int argc, char **argv)
{
    bench_check(argc == 3 && atoi(argv[1]) > 1 && atol(argv[2]) >= 4, "usage", "mpi_all_reduce TASKS BYTES");
    if (!getenv("OMPI_COMM_WORLD_RANK")) start_ranks(argv);
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int count = (int)(atol(argv[2]) / 4);
    float *own = calloc((size_t)count, sizeof *own), *sum = calloc((size_t)count, sizeof *sum);
    bench_check(own && sum, "tensors", "no memory");
    for (long steps; (steps = next_steps(rank)) > 0;) {
        const double begin = bench_now_ns();
        for (long i = 0; i < steps; i++)
            MPI_Allreduce(own, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) bench_answer((bench_now_ns() - begin) / (double)steps);
    }
    MPI_Finalize();
    free(own);
    free(sum);
    return 0;
}
