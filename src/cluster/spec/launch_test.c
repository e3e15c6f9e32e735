// Tests of clusters that launchers give, by the variables that Slurm 22.05 and Open MPI 4.1 were seen to set.
#include "base/strbuf.h"
#include "cluster/spec/launch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const variables[] = {"TF_CONFIG",
                                        "BRAID_PS",
                                        "BRAID_PORT",
                                        "BRAID_HOSTS",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "SLURM_JOB_NODELIST",
                                        "SLURM_NTASKS",
                                        "SLURM_TASKS_PER_NODE",
                                        "SLURM_STEP_NODELIST",
                                        "SLURM_STEP_TASKS_PER_NODE",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_PROCID",
                                        "SLURM_NODEID",
                                        "SLURM_LOCALID",
                                        "SLURM_DISTRIBUTION",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "PMIX_RANK"};

// Sets what "A=1 B=2" says, and unsets all others of the table.
static void set_environment(const char *text)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    const char *piece;
    size_t len;
    while (bd_split_next(&text, ' ', &piece, &len)) {
        char *variable = bd_strndup(piece, len), *equals = strchr(variable, '=');
        if (equals) *equals = 0;
        if (equals) setenv(variable, equals + 1, 1);
        bd_free(variable);
    }
}

// "a:1 b:2 | c:3 (worker/0)": the parameter servers, the workers, this task.
static char *to_text(const braid_cluster *c)
{
    bd_strbuf text = {0};
    for (int i = 0; i < braid_cluster_num_tasks(c, "ps"); i++)
        bd_strbuf_appendf(&text, "%s ", braid_cluster_address(c, "ps", i));
    bd_strbuf_append(&text, "|");
    for (int i = 0; i < braid_cluster_num_tasks(c, "worker"); i++)
        bd_strbuf_appendf(&text, " %s", braid_cluster_address(c, "worker", i));
    if (braid_cluster_this_job(c))
        bd_strbuf_appendf(&text, " (%s/%d)", braid_cluster_this_job(c), braid_cluster_this_task(c));
    return bd_strbuf_take(&text);
}

typedef struct example {
    const char *environment, *expected; // `!` in front: words of the error
} example;

static void check(const example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        BD_STATUS(st);
        const char *expected = examples[i].expected;
        set_environment(examples[i].environment);
        braid_cluster *c = braid_cluster_from_env(st);
        char *text = c ? to_text(c) : bd_asprintf("!%s", st->message);
        const bool right =
            expected[0] == '!' ? text[0] == '!' && strstr(text, expected + 1) : !strcmp(text, expected);
        if (!right) fail_msg("%s\n  gave     %s\n  expected %s", examples[i].environment, text, expected);
        if (!c) assert_int_equal(st->code, BRAID_INVALID_ARGUMENT);
        bd_free(text);
        braid_cluster_free(c);
    }
    set_environment("");
}
#define CHECK(examples) check(examples, sizeof(examples) / sizeof *(examples))

#define STEP "SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_STEP_NODELIST="
// srun -N2 -n3
#define BLOCK STEP "node[1-2] SLURM_STEP_TASKS_PER_NODE=2,1 SLURM_STEP_NUM_TASKS=3 "

static void a_step_of_slurm_is_a_cluster(void **state)
{
    (void)state;
    static const example examples[] = {
        {BLOCK "SLURM_PROCID=0 SLURM_NODEID=0 SLURM_LOCALID=0", "node1:2222 | node1:2223 node2:2222 (ps/0)"},
        {BLOCK "SLURM_PROCID=2 SLURM_NODEID=1 SLURM_LOCALID=0",
         "node1:2222 | node1:2223 node2:2222 (worker/1)"},
        {BLOCK "SLURM_DISTRIBUTION=block:cyclic SLURM_PROCID=1 SLURM_NODEID=0 SLURM_LOCALID=1",
         "node1:2222 | node1:2223 node2:2222 (worker/0)"},
        // srun -m cyclic deals ranks out in turn.
        {BLOCK "SLURM_DISTRIBUTION=cyclic SLURM_PROCID=1 SLURM_NODEID=1 SLURM_LOCALID=0",
         "node1:2222 | node2:2222 node1:2223 (worker/0)"},
        {BLOCK "SLURM_DISTRIBUTION=cyclic SLURM_PROCID=2 SLURM_NODEID=0 SLURM_LOCALID=1",
         "node1:2222 | node2:2222 node1:2223 (worker/1)"},
        // Tasks of one host need no address that others reach.
        {STEP "node1 SLURM_STEP_TASKS_PER_NODE=3 SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=1 SLURM_NODEID=0 "
              "SLURM_LOCALID=1",
         "127.0.0.1:2222 | 127.0.0.1:2223 127.0.0.1:2224 (worker/0)"},
        {BLOCK "SLURM_PROCID=1 SLURM_NODEID=0 SLURM_LOCALID=1 BRAID_PS=2 BRAID_PORT=7000",
         "node1:7000 node1:7001 | node2:7000 (ps/1)"},
        {BLOCK "SLURM_PROCID=1 SLURM_NODEID=0 SLURM_LOCALID=1 BRAID_PS=0",
         "| node1:2222 node1:2223 node2:2222 (worker/1)"},
    };
    CHECK(examples);
}

static void lists_of_slurm_hosts_are_expanded(void **state)
{
    (void)state;
#define FIRST "SLURM_PROCID=0 SLURM_NODEID=0 SLURM_LOCALID=0 BRAID_PS=0"
    static const example examples[] = {
        {STEP "a[08-10],b SLURM_STEP_TASKS_PER_NODE=1(x4) SLURM_STEP_NUM_TASKS=4 " FIRST,
         "| a08:2222 a09:2222 a10:2222 b:2222 (worker/0)"},
        {STEP "a,n[1-2,7] SLURM_STEP_TASKS_PER_NODE=2(x1),1(x3) SLURM_STEP_NUM_TASKS=5 " FIRST,
         "| a:2222 a:2223 n1:2222 n2:2222 n7:2222 (worker/0)"},
        {STEP "r[1-2]n[01-02]x SLURM_STEP_TASKS_PER_NODE=1(x4) SLURM_STEP_NUM_TASKS=4 " FIRST,
         "| r1n01x:2222 r1n02x:2222 r2n01x:2222 r2n02x:2222 (worker/0)"},
    };
    CHECK(examples);
}

static void malformed_variables_of_slurm_are_named(void **state)
{
    (void)state;
#define TWO                                                                                                  \
    " SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 SLURM_NODEID=0 SLURM_LOCALID=0"
#define COUNTS "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 SLURM_NODEID=0 SLURM_LOCALID=0"
    static const example examples[] = {
        {STEP "n[1-2" TWO, "!SLURM_STEP_NODELIST: 'n[1-2' has a '[' without ']'"},
        {STEP "n[2-1]" TWO, "!SLURM_STEP_NODELIST: '2-1' is no range"},
        {STEP "n[1,]" TWO, "!SLURM_STEP_NODELIST: '' is no range"},
        {STEP "n[1-x]" TWO, "!SLURM_STEP_NODELIST: '1-x' is no range"},
        {STEP "n[1-99999999999999]" TWO, "!SLURM_STEP_NODELIST: more than 10000 hosts"},
        {STEP "n[1-99999999999999999999]" TWO, "!SLURM_STEP_NODELIST: '1-99999999999999999999' is no range"},
        {STEP "[1][1][1][1][1][1][1][1][1]" TWO, "!SLURM_STEP_NODELIST: '[1]' has too many brackets"},
        {STEP "a,,b" TWO, "!SLURM_STEP_NODELIST: the name of a host is missing"},
        {STEP "a_,a$" TWO, "!'a$' is no host name"},
        {STEP "a,b " COUNTS, "!SLURM_STEP_TASKS_PER_NODE is not set"},
        {STEP "a,b SLURM_STEP_TASKS_PER_NODE=1 " COUNTS,
         "!SLURM_STEP_TASKS_PER_NODE: it does not fit the 2 hosts"},
        {STEP "a,b SLURM_STEP_TASKS_PER_NODE=1(x3) " COUNTS, "!SLURM_STEP_TASKS_PER_NODE: it does not fit"},
        {STEP "a,b SLURM_STEP_TASKS_PER_NODE=1(y2) " COUNTS, "!'1(y2)' is no number of tasks"},
        {STEP "a,b SLURM_STEP_TASKS_PER_NODE=1(x) " COUNTS, "!'1(x)' is no number of tasks"},
        {STEP "a,b SLURM_STEP_TASKS_PER_NODE=0,2 " COUNTS, "!'0' is no number of tasks"},
        {STEP "a,b SLURM_STEP_TASKS_PER_NODE=2,1 " COUNTS,
         "!SLURM_STEP_TASKS_PER_NODE has 3 tasks, SLURM_STEP_NUM_TASKS 2"},
        {STEP "a,b", "!SLURM_STEP_NUM_TASKS is not set"},
        {STEP "a,b SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_STEP_NUM_TASKS=2", "!SLURM_PROCID is not set"},
        {BLOCK "SLURM_PROCID=3", "!SLURM_PROCID is '3', not a number from 0 to 2"},
        {BLOCK "SLURM_PROCID=x", "!SLURM_PROCID is 'x'"},
        {BLOCK "SLURM_PROCID=0 SLURM_DISTRIBUTION=plane",
         "!SLURM_DISTRIBUTION is 'plane': start the tasks by"},
        {BLOCK "SLURM_PROCID=1 SLURM_NODEID=1 SLURM_LOCALID=0",
         "!Slurm step 1.0: by the list of hosts rank 1 is process 1 of node1, but it was started as process "
         "0 of another host"},
        {BLOCK FIRST " BRAID_PORT=65535", "!BRAID_PORT is 65535, and 1 more are needed above it"},
        {BLOCK "SLURM_PROCID=0 SLURM_NODEID=0 SLURM_LOCALID=0 BRAID_PORT=x", "!BRAID_PORT is 'x'"},
        {BLOCK "SLURM_PROCID=0 SLURM_NODEID=0 SLURM_LOCALID=0 BRAID_PS=3",
         "!BRAID_PS is '3', not a number from 0 to 2"},
    };
    CHECK(examples);
}

// mpirun -n 3, and one of its ranks.
#define OMPI "OMPI_COMM_WORLD_SIZE=3 PMIX_RANK=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK="
// What a process of Slurm's step that is mpirun's daemon on its host leaves in its tasks' environment.
#define DAEMON STEP "node[1-2] SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 "

static void the_ranks_of_mpirun_are_a_cluster(void **state)
{
    (void)state;
    static const example examples[] = {
        {OMPI "1 OMPI_COMM_WORLD_LOCAL_SIZE=3", "127.0.0.1:2222 | 127.0.0.1:2223 127.0.0.1:2224 (worker/0)"},
        {DAEMON OMPI "1 OMPI_COMM_WORLD_LOCAL_SIZE=3",
         "127.0.0.1:2222 | 127.0.0.1:2223 127.0.0.1:2224 (worker/0)"},
        {OMPI "1 OMPI_COMM_WORLD_LOCAL_SIZE=2 BRAID_HOSTS=a:2,[fd00::2]:2",
         "a:2222 | a:2223 [fd00::2]:2222 (worker/0)"},
        {OMPI "0 OMPI_COMM_WORLD_LOCAL_SIZE=1 BRAID_HOSTS=a,b,c", "a:2222 | b:2222 c:2222 (worker/0)"},
        // PMIx alone.
        {"PMIX_RANK=2 BRAID_HOSTS=a:2,b", "a:2222 | a:2223 b:2222 (worker/1)"},
        {BLOCK "PMIX_RANK=2 SLURM_PROCID=2 SLURM_NODEID=1 SLURM_LOCALID=0", // srun --mpi=pmix
         "node1:2222 | node1:2223 node2:2222 (worker/1)"},
        {OMPI "0 OMPI_COMM_WORLD_LOCAL_SIZE=2",
         "!OMPI_COMM_WORLD_SIZE is 3 and OMPI_COMM_WORLD_LOCAL_SIZE 2: the other tasks are on hosts that "
         "mpirun does not name. Name all: export BRAID_HOSTS="},
        {OMPI "1 OMPI_COMM_WORLD_LOCAL_SIZE=2 BRAID_HOSTS=a,b,c",
         "!mpirun: by the list of hosts rank 1 is process 0 of b, but it was started as process 1"},
        {OMPI "0 OMPI_COMM_WORLD_LOCAL_SIZE=2 BRAID_HOSTS=a,b",
         "!BRAID_HOSTS has 2 tasks, OMPI_COMM_WORLD_SIZE"},
        {OMPI "0 OMPI_COMM_WORLD_LOCAL_SIZE=2 BRAID_HOSTS=a:0",
         "!BRAID_HOSTS: 'a:0' is no host or host:tasks"},
        {OMPI "0 OMPI_COMM_WORLD_LOCAL_SIZE=2 BRAID_HOSTS=[::1", "!BRAID_HOSTS: '[::1' is no host"},
        {OMPI "0 OMPI_COMM_WORLD_LOCAL_SIZE=2 BRAID_HOSTS=-oProxyCommand=x",
         "!'-oProxyCommand=x' is no name"},
        {OMPI "3 OMPI_COMM_WORLD_LOCAL_SIZE=3", "!OMPI_COMM_WORLD_LOCAL_RANK is '3'"},
        {"OMPI_COMM_WORLD_RANK=0", "!OMPI_COMM_WORLD_SIZE is not set"},
        {"PMIX_RANK=1", "!PMIX_RANK is set, and no variable tells the number of tasks"},
        {"PMIX_RANK=3 BRAID_HOSTS=a:3", "!PMIX_RANK is '3', not a number from 0 to 2"},
    };
    CHECK(examples);
}

static void a_process_alone_and_a_batch_script_are_no_cluster(void **state)
{
    (void)state;
    static const example examples[] = {
        {"", "|"},
        // mpirun -n 1
        {"OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 PMIX_RANK=0", "|"},
        // srun --mpi=pmix --pty bash
        {STEP "node1 SLURM_STEP_TASKS_PER_NODE=1 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 PMIX_RANK=0", "|"},
        // sbatch -N2 -n4
        {"SLURM_JOB_ID=4 SLURM_JOB_NODELIST=node[1-2] SLURM_NTASKS=4 SLURM_TASKS_PER_NODE=3,1 SLURM_PROCID=0 "
         "SLURM_NODEID=0 SLURM_LOCALID=0",
         "|"},
    };
    CHECK(examples);
}

static void tf_config_goes_before_launchers(void **state)
{
    (void)state;
    static const example examples[] = {
        {BLOCK "SLURM_PROCID=x TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"worker\"}}",
         "| a:1 (worker/0)"},
        {"OMPI_COMM_WORLD_RANK=0 TF_CONFIG={}", "|"},
    };
    CHECK(examples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_slurm_is_a_cluster),
        cmocka_unit_test(lists_of_slurm_hosts_are_expanded),
        cmocka_unit_test(malformed_variables_of_slurm_are_named),
        cmocka_unit_test(the_ranks_of_mpirun_are_a_cluster),
        cmocka_unit_test(a_process_alone_and_a_batch_script_are_no_cluster),
        cmocka_unit_test(tf_config_goes_before_launchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
