// `braid run`: a whole cluster, on this host or on several, one process a task, for any program that reads
// TF_CONFIG.
#include "base/alloc.h"
#include "base/check.h"
#include "base/file_root_variable.h"
#include "base/host_list.h"
#include "base/random.h"
#include "base/run_dir_variable.h"
#include "base/shared_memory_variables.h"
#include "base/status.h"
#include "command.h"
#include "flags.h"
#include "ports.h"
#include "tasks.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// More processes than this are a slip of the finger.
#define TASKS_MAX 1000
// Where the ports of a run on other hosts begin, if they are not given: below those that Linux hands out to
// outgoing connections, another place for each run.
#define PORT_MIN 12000
#define PORT_MAX 31000
// ssh must not ask: many of it share one terminal.
#define SSH_DEFAULT "ssh -o BatchMode=yes"
#define HOSTFILE_MAX (1 << 20)
#define GRACE_DEFAULT_MS 60000
#define REPLICAS_MAX 2
#define EVALUATOR "evaluator"

typedef struct run_flags {
    int64_t ps, ps_replicas, workers, timeout_ms, restarts, grace_ms;
    int64_t port;
    const char *hosts, *hostfile, *ssh;
    bool chief, evaluator, insecure, no_shared_memory;
    const char *file_root, *tls_dir;
    int program; // its index in argv
} run_flags;

static bd_flags_result parse(run_flags *f, int argc, char **argv)
{
    const bd_flag table[] = {
        {"ps", BD_FLAG_INT, &f->ps, 0, "N", "parameter servers (default 1)"},
        {"ps-replicas", BD_FLAG_INT, &f->ps_replicas, 0, "N",
         "processes of each parameter server, 1 (default) or 2"},
        {"workers", BD_FLAG_INT, &f->workers, 0, "N", "workers (default 1; the rest of the hosts' tasks)"},
        {"chief", BD_FLAG_BOOL, &f->chief, 0, NULL,
         "a chief besides the workers; without it worker 0 is the chief"},
        {"evaluator", BD_FLAG_BOOL, &f->evaluator, 0, NULL,
         "a task that evaluates checkpoints, beside the cluster"},
        {"timeout", BD_FLAG_SECONDS, &f->timeout_ms, 0, "SECONDS",
         "end all tasks after this time, with exit code 124 (default: never)"},
        {"restarts", BD_FLAG_INT, &f->restarts, 0, "N",
         "restart each task that fails, N times at most (default 0)"},
        {"file-root", BD_FLAG_STRING, &f->file_root, 0, "DIR[:DIR...]",
         "servers of the tasks open only files in these to graphs"},
        {"grace", BD_FLAG_SECONDS, &f->grace_ms, 0, "SECONDS",
         "how long tasks wait for a lost one (default 60)"},
        {"tls-dir", BD_FLAG_STRING, &f->tls_dir, 0, "DIR",
         "the tasks' certificate, on each host (default: BRAID_TLS_DIR)"},
        {"insecure", BD_FLAG_BOOL, &f->insecure, 0, NULL, "with --hosts: make no certificates for this run"},
        {"no-shared-memory", BD_FLAG_BOOL, &f->no_shared_memory, 0, NULL,
         "tasks of one host share no memory: all goes over gRPC"},
        {"hosts", BD_FLAG_STRING, &f->hosts, 0, "HOST[:N],...",
         "run on these hosts, by ssh, N tasks (default 1) on each"},
        {"hostfile", BD_FLAG_STRING, &f->hostfile, 0, "FILE",
         "the hosts from a file: lines 'HOST slots=N', as for mpirun"},
        {"ssh", BD_FLAG_STRING, &f->ssh, 0, "COMMAND",
         "in place of ssh (default: BRAID_SSH, else 'ssh -o BatchMode=yes')"},
        {"port", BD_FLAG_INT, &f->port, 1, "N",
         "the first port of the tasks on each of the hosts (default: drawn)"},
    };
    const bd_flags flags = {
        "braid run", "[OPTIONS] PROGRAM [ARGS...]",
        "Starts PROGRAM once for every task of a cluster, and waits until the chief, all workers and the\n"
        "evaluator have ended; then it ends the parameter servers. An evaluator is ended, too, when the\n"
        "others have and one of them has failed. Each process finds its cluster and its task in the\n"
        "environment variable TF_CONFIG. Each line of output begins with the name of its task.\n"
        "A PROGRAM without a slash is searched beside braid, among its examples, then in PATH.\n"
        "A file NAME.py is run by 'python3 -m braid' (BRAID_PYTHON in place of python3).\n"
        "In ARGS, {job_name}, {task_index}, {ps_hosts} and {worker_hosts} stand for those of each task.\n"
        "With --hosts the tasks run on other hosts, which have braid, PROGRAM and the working directory\n"
        "under the same paths. Parameter servers are spread over the hosts first. Without --tls-dir the\n"
        "tasks get certificates that are made for this run, so that nobody else may call them.\n"
        "The exit code is the first failing task's, 128+N if signal N killed it; 0 if none failed, or those\n"
        "that failed were restarted.\n\n"
        "Examples:\n"
        "  braid run --ps 1 --workers 2 mnist_replica --train_steps=2000\n"
        "  braid run --restarts 3 mnist_replica --log_dir=/tmp/model --train_steps=20000\n"
        "  braid run --ps-replicas 2 --workers 2 mnist_replica --train_steps=20000\n"
        "  braid run --ps 2 --workers 3 --chief --timeout 600 train.py\n"
        "  braid run --hosts a:2,b:2 mnist_replica --train_steps=20000",
        table, sizeof table / sizeof *table};
    bd_flags_result result = bd_flags_parse(&flags, argc, argv, &f->program);
    if (result != BD_FLAGS_OK) return result;
    if (f->program == argc) {
        fprintf(stderr, "braid run: which program? Usage: braid run %s\n", flags.usage);
        return BD_FLAGS_ERROR;
    }
    if (f->hosts && f->hostfile) {
        fprintf(stderr, "braid run: --hosts or --hostfile, not both.\n");
        return BD_FLAGS_ERROR;
    }
    return BD_FLAGS_OK;
}

static bool check_counts(const run_flags *f)
{
    if (f->workers + f->chief == 0) {
        fprintf(stderr, "braid run: --workers 0 without --chief leaves no task that trains.\n");
        return false;
    }
    if (f->ps_replicas < 1 || f->ps_replicas > REPLICAS_MAX) {
        fprintf(stderr, "braid run: --ps-replicas is 1 or %d.\n", REPLICAS_MAX);
        return false;
    }
    if (f->ps * f->ps_replicas + f->workers + f->evaluator > TASKS_MAX) {
        fprintf(stderr, "braid run: at most %d tasks.\n", TASKS_MAX);
        return false;
    }
    return true;
}

// ---- The hosts ----

static char *read_file(const char *path, braid_status *st)
{
    FILE *file = fopen(path, "re");
    char *text = file ? bd_malloc(HOSTFILE_MAX + 1) : NULL;
    const size_t len = file ? fread(text, 1, HOSTFILE_MAX + 1, file) : 0;
    const bool failed = !file || ferror(file) || len > HOSTFILE_MAX;
    if (failed)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "%s", len > HOSTFILE_MAX ? "it is too long" : strerror(errno));
    else
        text[len] = 0;
    if (file) fclose(file);
    if (!failed) return text;
    bd_free(text);
    return NULL;
}

static bool read_hosts(const run_flags *f, bd_host_list *hosts)
{
    BD_STATUS(st);
    if (f->hosts && bd_host_list_parse(f->hosts, hosts, st)) bd_status_prefix(st, "--hosts: ");
    if (f->hostfile) {
        char *text = read_file(f->hostfile, st);
        if (!text || bd_host_file_parse(text, hosts, st))
            bd_status_prefix(st, "--hostfile '%s': ", f->hostfile);
        bd_free(text);
    }
    if (st->code) fprintf(stderr, "braid run: %s\n", st->message);
    return st->code == BRAID_OK;
}

// Without --workers the tasks that are not others fill the hosts.
static bool deal_counts(run_flags *f, const bd_host_list *hosts)
{
    const bool has_hosts = f->hosts || f->hostfile;
    const int64_t others = f->ps * f->ps_replicas + f->chief + f->evaluator, room = bd_host_list_tasks(hosts);
    if (f->workers < 0) f->workers = has_hosts ? (room > others ? room - others : 0) : 1;
    if (!check_counts(f)) return false;
    const int64_t tasks = others + f->workers;
    if (!has_hosts || tasks <= room) return true;
    fprintf(stderr, "braid run: %lld tasks, and the hosts have room for %lld.\n", (long long)tasks,
            (long long)room);
    return false;
}

// ---- The program ----

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static char *in_directory(const char *directory, size_t len, const char *name)
{
    char *path = bd_asprintf("%.*s/%s", len ? (int)len : 1, len ? directory : ".", name);
    if (is_program(path)) return path;
    bd_free(path);
    return NULL;
}

// Installed examples lie in a directory of their own, whose path from that of programs is known.
static char *find_example(const char *self, const char *name)
{
    char *directory = bd_asprintf("%.*s/%s", (int)(strrchr(self, '/') - self), self, BD_EXAMPLES_DIRECTORY);
    char *path = in_directory(directory, strlen(directory), name);
    bd_free(directory);
    return path;
}

// The path of the program (bd_free); NULL when it is not found.
static char *find_program(const char *name)
{
    if (strchr(name, '/')) return is_program(name) ? bd_strdup(name) : NULL;
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        char *path = in_directory(self, (size_t)(strrchr(self, '/') - self), name);
        if (!path) path = find_example(self, name);
        if (path) return path;
    }
    const char *rest = getenv("PATH"), *piece;
    size_t len;
    while (rest && bd_split_next(&rest, ':', &piece, &len)) {
        char *path = in_directory(piece, len, name);
        if (path) return path;
    }
    return NULL;
}

// What each task executes.
typedef struct command {
    char *path;  // owned; NULL: not found
    char **argv; // owned, the words are not; ends with NULL
    bool is_python;
} command;

static bool is_python(const char *name)
{
    const char *end = strrchr(name, '.');
    return end && !strcmp(end, ".py") && access(name, R_OK) == 0;
}

// A file of Python, executable or not, is run with Braid as its tensorflow.
static command find_command(char **argv)
{
    const char *python = getenv("BRAID_PYTHON");
    char *before[] = {python && python[0] ? (char *)python : "python3", "-m", "braid"};
    command c = {.is_python = is_python(argv[0])};
    const size_t words = c.is_python ? sizeof before / sizeof *before : 0;
    size_t count = 0;
    while (argv[count])
        count++;
    c.argv = bd_calloc(words + count + 1, sizeof *c.argv);
    memcpy(c.argv, before, words * sizeof *before);
    memcpy(c.argv + words, argv, count * sizeof *argv);
    c.path = find_program(c.argv[0]);
    return c;
}

static void command_fini(command *c)
{
    bd_free(c->path);
    bd_free(c->argv);
}

// ---- The cluster ----

typedef struct job {
    const char *name;
    int count, replicas; // tasks, and processes of each
} job;

// Where a process of the cluster runs and listens.
typedef struct place {
    char *host;    // not owned; NULL: this one
    char *address; // owned
} place;

// The evaluator, whose address nobody needs, is not part of the cluster.
static void describe_cluster(const job *jobs, int job_count, const place *places, bd_strbuf *out)
{
    bool first = true;
    for (int j = 0; j < job_count; j++) {
        if (!jobs[j].count || !strcmp(jobs[j].name, EVALUATOR)) continue; // the last job
        bd_strbuf_appendf(out, "%s\"%s\": [", first ? "{" : ", ", jobs[j].name);
        first = false;
        for (int i = 0; i < jobs[j].count * jobs[j].replicas; i++) {
            const bool is_first = i % jobs[j].replicas == 0, is_last = (i + 1) % jobs[j].replicas == 0;
            bd_strbuf_appendf(out, "%s%s%s", is_first ? (i ? ", \"" : "\"") : "|", (places++)->address,
                              is_last ? "\"" : "");
        }
        bd_strbuf_append_char(out, ']');
    }
    bd_strbuf_append_char(out, '}');
}

// Deals the processes to the hosts in turn, parameter servers first. Tasks that are all on one host need no
// address that others reach.
static bool place_on_hosts(const bd_host_list *hosts, int64_t port, place *places, int count)
{
    if (!port) port = PORT_MIN + (int64_t)(bd_random_u64() % (PORT_MAX - PORT_MIN));
    if (port + count > BD_PORT_MAX) {
        fprintf(stderr, "braid run: --port %lld leaves no room for the ports of %d tasks.\n", (long long)port,
                count);
        return false;
    }
    bd_placing placing;
    BD_ASSERT(hosts->items); // there is a host
    bd_placing_init(&placing, hosts, true);
    for (int i = 0; i < count; i++) {
        int on_host;
        char *host = hosts->items[bd_placing_next(&placing, &on_host)].name;
        places[i] = (place){host, bd_host_address(hosts->len == 1 ? "127.0.0.1" : host, (int)port + on_host)};
    }
    bd_placing_fini(&placing);
    return true;
}

static bool place_here(bd_port *ports, place *places, int count)
{
    if (!bd_ports_take(ports, count)) {
        fprintf(stderr, "braid run: no %d free loopback ports: %s\n", count, strerror(errno));
        return false;
    }
    for (int i = 0; i < count; i++)
        places[i].address = bd_host_address("127.0.0.1", ports[i].number);
    return true;
}

static void make_prefixes(bd_task *t, int width, int colour)
{
    for (int i = 0; i < 2; i++) {
        bool coloured = isatty(i + 1) && !getenv("NO_COLOR");
        if (coloured)
            snprintf(t->prefixes[i], sizeof t->prefixes[i], "\033[%dm%-*s |\033[0m ", 31 + colour % 6, width,
                     t->supervised.name);
        else
            snprintf(t->prefixes[i], sizeof t->prefixes[i], "%s | ", t->supervised.name);
    }
}

// The addresses of a job, with commas between them.
static char *job_addresses(const job *jobs, int job_count, const place *places, const char *name)
{
    bd_strbuf out = {0};
    for (int j = 0; j < job_count; j++)
        for (int i = 0; i < jobs[j].count * jobs[j].replicas; i++, places++)
            if (!strcmp(jobs[j].name, name))
                bd_strbuf_appendf(&out, "%s%s", out.len ? "," : "", places->address);
    char *text = bd_strdup(bd_strbuf_str(&out));
    bd_strbuf_fini(&out);
    return text;
}

// What stands in the words of the program for the flags of TensorFlow's examples.
typedef struct placeholder {
    const char *name, *value;
} placeholder;

static char *replaced(const char *word, const placeholder *list, size_t count)
{
    bd_strbuf out = {0};
    while (*word) {
        size_t i = 0;
        while (i < count && strncmp(word, list[i].name, strlen(list[i].name)) != 0)
            i++;
        if (i < count)
            bd_strbuf_appendf(&out, "%s", list[i].value);
        else
            bd_strbuf_append_char(&out, *word);
        word += i < count ? strlen(list[i].name) : 1;
    }
    char *text = bd_strdup(bd_strbuf_str(&out));
    bd_strbuf_fini(&out);
    return text;
}

static char **words_of_task(char *const *argv, const placeholder *list, size_t count)
{
    size_t n = 0;
    while (argv[n])
        n++;
    char **words = bd_calloc(n + 1, sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = replaced(argv[i], list, count);
    return words;
}

static void make_tasks(bd_run *run, char *const *argv, const job *jobs, int job_count, const place *places,
                       const char *cluster)
{
    char *ps = job_addresses(jobs, job_count, places, "ps");
    char *workers = job_addresses(jobs, job_count, places, "worker");
    int width = 0;
    for (int j = 0, n = 0; j < job_count; j++)
        for (int i = 0; i < jobs[j].count * jobs[j].replicas; i++) {
            bd_task *t = &run->tasks[n];
            t->host = places[n++].host;
            const int task = i / jobs[j].replicas, replica = i % jobs[j].replicas;
            char name[16] = "", field[32] = "";
            if (jobs[j].replicas > 1) {
                snprintf(name, sizeof name, ".%d", replica);
                snprintf(field, sizeof field, ", \"replica\": %d", replica);
                t->supervised.partner = &(replica == 0 ? t + 1 : t - 1)->supervised;
            }
            t->supervised.name = bd_asprintf("%s/%d%s", jobs[j].name, task, name);
            t->supervised.is_ps = !strcmp(jobs[j].name, "ps");
            t->supervised.is_evaluator = !strcmp(jobs[j].name, EVALUATOR);
            t->tf_config = bd_asprintf("{\"cluster\": %s, \"task\": {\"type\": \"%s\", \"index\": %d%s}}",
                                       cluster, jobs[j].name, task, field);
            char index[16];
            snprintf(index, sizeof index, "%d", task);
            const placeholder list[] = {{"{job_name}", jobs[j].name},
                                        {"{task_index}", index},
                                        {"{ps_hosts}", ps},
                                        {"{worker_hosts}", workers}};
            t->argv = words_of_task(argv, list, sizeof list / sizeof *list);
            if ((int)strlen(t->supervised.name) > width) width = (int)strlen(t->supervised.name);
        }
    for (int i = 0; i < run->task_count; i++)
        make_prefixes(&run->tasks[i], width, i);
    bd_free(ps);
    bd_free(workers);
}

static int run_tasks(bd_run *run, char *const *argv, const job *jobs, int job_count, const place *places)
{
    bd_strbuf cluster = {0};
    describe_cluster(jobs, job_count, places, &cluster);
    run->tasks = bd_calloc((size_t)run->task_count, sizeof *run->tasks);
    make_tasks(run, argv, jobs, job_count, places, cluster.data);
    const int code = bd_run_tasks(run);
    for (int i = 0; i < run->task_count; i++) {
        bd_free((char *)run->tasks[i].supervised.name);
        bd_free(run->tasks[i].tf_config);
        for (char **word = run->tasks[i].argv; *word; word++)
            bd_free(*word);
        bd_free(run->tasks[i].argv);
    }
    bd_free(run->tasks);
    bd_strbuf_fini(&cluster);
    return code;
}

static int run_cluster(const run_flags *f, const bd_host_list *hosts, bd_run *run, char *const *argv)
{
    const job jobs[] = {{"ps", (int)f->ps, (int)f->ps_replicas},
                        {"chief", f->chief, 1},
                        {"worker", (int)f->workers, 1},
                        {EVALUATOR, f->evaluator, 1}};
    run->task_count = (int)(f->ps * f->ps_replicas + f->chief + f->workers + f->evaluator);
    bd_port *ports = hosts->len ? NULL : bd_calloc((size_t)run->task_count, sizeof *ports);
    place *places = bd_calloc((size_t)run->task_count, sizeof *places);
    const bool ok = ports ? place_here(ports, places, run->task_count)
                          : place_on_hosts(hosts, f->port, places, run->task_count);
    const int code = ok ? run_tasks(run, argv, jobs, sizeof jobs / sizeof *jobs, places) : 1;
    for (int i = 0; i < run->task_count; i++)
        bd_free(places[i].address);
    bd_free(places);
    if (ports && ok) bd_ports_release(ports, run->task_count);
    bd_free(ports);
    return code;
}

static const char *find_ssh(const run_flags *f)
{
    const char *ssh = f->ssh ? f->ssh : getenv("BRAID_SSH");
    return ssh && ssh[0] ? ssh : SSH_DEFAULT;
}

// Tasks on several hosts can be reached by others. Those of one host are for its user.
static bool wants_keys(const run_flags *f, const bd_host_list *hosts)
{
    const char *dir = getenv(BD_TLS_DIR_VARIABLE);
    return hosts->len > 1 && !f->insecure && !(dir && dir[0]);
}

static int run_program(const run_flags *f, const bd_host_list *hosts, const char *path, char **argv)
{
    char self[PATH_MAX], directory[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (hosts->len && (n < 0 || !getcwd(directory, sizeof directory))) {
        fprintf(stderr, "braid run: the path of %s is unknown: %s\n",
                n < 0 ? "braid" : "the working directory", strerror(errno));
        return 1;
    }
    self[n < 0 ? 0 : n] = 0;
    bd_run run = {.program = path,
                  .timeout_ms = f->timeout_ms,
                  .max_restarts = (int)f->restarts,
                  .grace_ms = f->grace_ms,
                  .ssh = find_ssh(f),
                  .braid = self,
                  .directory = directory};
    BD_STATUS(st);
    bd_throwaway_keys keys = {0};
    if (wants_keys(f, hosts) && !bd_throwaway_keys_make(&keys, st)) run.keys = &keys;
    if (st->code) fprintf(stderr, "braid run: no certificates for the tasks: %s\n", st->message);
    const int code = st->code ? 1 : run_cluster(f, hosts, &run, argv);
    bd_throwaway_keys_fini(&keys);
    return code;
}

// Tells the tasks of this host a temporary directory. They do without one where none can be made.
static char *make_run_dir(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = bd_asprintf("%s/braid_run_XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (mkdtemp(dir))
        setenv(BD_RUN_DIR_VARIABLE, dir, 1);
    else
        unsetenv(BD_RUN_DIR_VARIABLE);
    return dir;
}

static int run_here_or_on_hosts(const run_flags *f, const bd_host_list *hosts, const char *path, char **argv)
{
    unsetenv(BD_RUN_DIR_VARIABLE); // of a run that has started this one
    char *dir = hosts->len ? NULL : make_run_dir();
    const int code = run_program(f, hosts, path, argv);
    if (dir) rmdir(dir); // which does nothing when a task has left files in it
    bd_free(dir);
    return code;
}

static int run_main(int argc, char **argv)
{
    run_flags f = {.ps = 1, .ps_replicas = 1, .workers = -1, .grace_ms = GRACE_DEFAULT_MS};
    switch (parse(&f, argc, argv)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    // The tasks inherit these.
    if (f.file_root) setenv(BD_FILE_ROOT_VARIABLE, f.file_root, 1);
    if (f.tls_dir) setenv(BD_TLS_DIR_VARIABLE, f.tls_dir, 1);
    if (f.no_shared_memory) bd_turn_off_shared_memory();
    bd_host_list hosts = {0};
    command c = {0};
    int code = BD_EXIT_USAGE;
    if (read_hosts(&f, &hosts) && deal_counts(&f, &hosts)) {
        c = find_command(argv + f.program);
        const char *name = c.argv[0];
        // Only this run's tasks have its certificates, so that Python programs use files as on one host
        // (server_lib.py).
        if (c.is_python && wants_keys(&f, &hosts)) setenv(BD_FILE_ROOT_VARIABLE, "/", 0);
        if (c.path)
            code = run_here_or_on_hosts(&f, &hosts, c.path, c.argv);
        else
            fprintf(stderr, "braid run: no program '%s'%s.\n", name,
                    strchr(name, '/') ? " that can be run" : " beside braid, among its examples, or in PATH");
    }
    command_fini(&c);
    bd_host_list_free(&hosts);
    return code;
}

BD_COMMAND(run) = {
    .name = "run",
    .usage = "[OPTIONS] PROGRAM [ARGS...]",
    .summary = "run a program as a whole cluster, on this host or on several",
    .main = run_main,
};
