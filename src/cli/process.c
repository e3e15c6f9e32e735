// A child process with streams of its own, and its process group.
#include "process.h"
#include "base/alloc.h"
#include "base/done_notice.h"
#include "base/strbuf.h"
#include "supervision.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// The two ends of each stream: the first is read, the second written. A notice is read at the first.
typedef struct streams {
    int in[2], out[2], err[2], notice[2];
} streams;

static void fail_in_child(const char *message)
{
    if (write(2, message, strlen(message)) < 0) _exit(BD_EXIT_CANNOT_RUN);
    _exit(BD_EXIT_CANNOT_RUN);
}

// In the child, between fork and exec: only async-signal-safe calls.
static void become_program(const bd_process_options *o, const streams *s, char **environment, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // if this process itself is killed, its children are too
    if (getppid() != parent) _exit(BD_EXIT_CANNOT_RUN);
    sigprocmask(SIG_SETMASK, o->mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    const int in = o->has_input ? s->in[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0 || dup2(in, 0) < 0 || dup2(s->out[1], 1) < 0 || dup2(s->err[1], 2) < 0)
        _exit(BD_EXIT_CANNOT_RUN);
    if (o->has_notice) fcntl(s->notice[1], F_SETFD, 0); // inherited
    if (o->directory && chdir(o->directory) != 0) fail_in_child("the working directory cannot be entered\n");
    execve(o->program, o->argv, environment);
    fail_in_child("cannot be run\n");
}

// ---- Environment ----

static bool is_replaced(const char *variable, const bd_process_options *o, const char *notice)
{
    const size_t len = strcspn(variable, "=") + 1;
    if (notice && strncmp(variable, notice, len) == 0) return true;
    for (int i = 0; i < o->variable_count; i++)
        if (strncmp(variable, o->variables[i], len) == 0) return true;
    return false;
}

// The environment of this process with variables replaced. The caller frees the block, not what it holds.
static char **make_environment(const bd_process_options *o, char *notice)
{
    extern char **environ;
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **environment = bd_malloc((n + (size_t)o->variable_count + 2) * sizeof *environment);
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(environ[i], o, notice)) environment[kept++] = environ[i];
    for (int i = 0; i < o->variable_count; i++)
        environment[kept++] = o->variables[i];
    if (notice) environment[kept++] = notice;
    environment[kept] = NULL;
    return environment;
}

// The variable that tells the process its end of the socket; NULL: there is none.
static char *notice_variable(const bd_process_options *o, const streams *s)
{
    struct stat file = {0};
    if (!o->has_notice) return NULL;
    fstat(s->notice[1], &file);
    return bd_asprintf(BD_DONE_NOTICE_VARIABLE "=%d:%llu", s->notice[1], (unsigned long long)file.st_ino);
}

// ---- Start ----

static bool open_streams(streams *s, const bd_process_options *o)
{
    *s = (streams){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    return (!o->has_input || pipe2(s->in, O_CLOEXEC) == 0) && pipe2(s->out, O_CLOEXEC) == 0 &&
           pipe2(s->err, O_CLOEXEC) == 0 &&
           (!o->has_notice || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->notice) == 0);
}

static void close_ends(const int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
}

// Keeps this process's end of a stream, and closes the other one.
static int keep(const int ends[2], int own)
{
    if (ends[own] < 0) return -1;
    close(ends[!own]);
    fcntl(ends[own], F_SETFL, O_NONBLOCK);
    return ends[own];
}

static pid_t fork_process(const bd_process_options *o, const streams *s)
{
    char *notice = notice_variable(o, s), **environment = make_environment(o, notice);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_program(o, s, environment, parent);
    bd_free(environment);
    bd_free(notice);
    return pid;
}

int bd_process_start(bd_process *p, const bd_process_options *options)
{
    streams s;
    const pid_t pid = open_streams(&s, options) ? fork_process(options, &s) : -1;
    if (pid < 0) {
        const int error = errno;
        close_ends(s.in);
        close_ends(s.out);
        close_ends(s.err);
        close_ends(s.notice);
        return error;
    }
    setpgid(pid, pid); // in both processes, because either may be first
    *p = (bd_process){pid, keep(s.in, 1), keep(s.out, 0), keep(s.err, 0), keep(s.notice, 0)};
    return 0;
}

// ---- Orphans ----

void bd_adopt_orphans(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void bd_kill_children(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (;;) {
        FILE *f = fopen(path, "re");
        int pid = 0;
        bool any = f && fscanf(f, "%d", &pid) == 1;
        if (f) fclose(f);
        if (!any) return;
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
}
