// A task on another host, by ssh and an agent. The agent, and not the program itself, is what ssh starts: the
// process of a program does not notice that its ssh has ended, and its exit code, its signals and its notice
// (base/done_notice.h) do not pass through ssh. What the program needs, its environment too, is sent to the
// agent and is on no command line.
#include "remote_task.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "process.h"
#include "tasks.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

// Variables that belong to this host or to the login.
static bool is_of_host(const char *variable)
{
    static const char *const names[] = {
        "HOME=",   "USER=", "LOGNAME=", "SHELL=",      "MAIL=", "HOSTNAME=", "TERM=", "DISPLAY=",
        "TMPDIR=", "PWD=",  "OLDPWD=",  "XAUTHORITY=", "SSH_",  "XDG_",      "DBUS_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bd_str_starts_with(variable, names[i])) return true;
    return false;
}

static bool is_of_task(const char *variable, char *const own[BD_TASK_VARIABLES])
{
    for (int i = 0; i < BD_TASK_VARIABLES; i++)
        if (strncmp(variable, own[i], strcspn(own[i], "=") + 1) == 0) return true;
    return false;
}

static void append_start(bd_strbuf *to, const bd_task *t, const bd_run *run)
{
    extern char **environ;
    BD_ARRAY(char *) variables = {0};
    char *own[BD_TASK_VARIABLES];
    bd_task_variables(t, run, own);
    for (char **v = environ; *v; v++)
        if (!is_of_host(*v) && !is_of_task(*v, own)) bd_array_push(&variables, *v);
    for (int i = 0; i < BD_TASK_VARIABLES; i++)
        bd_array_push(&variables, own[i]);
    int argc = 0;
    while (t->argv[argc])
        argc++;
    const bd_start start = {.directory = run->directory,
                            .program = run->program,
                            .argv = t->argv,
                            .argc = argc,
                            .variables = variables.items,
                            .variable_count = (int)variables.len};
    bd_start_append(to, &start);
    for (int i = 0; i < BD_TASK_VARIABLES; i++)
        bd_free(own[i]);
    bd_array_free(&variables);
}

// In single quotes, for the login shell of the other host.
static char *quote(const char *text)
{
    bd_strbuf quoted = {0};
    bd_strbuf_append_char(&quoted, '\'');
    for (; *text; text++)
        bd_strbuf_appendf(&quoted, *text == '\'' ? "'\\'%c" : "%c", *text);
    bd_strbuf_append_char(&quoted, '\'');
    return bd_strbuf_take(&quoted);
}

int bd_remote_start(bd_task *t, const bd_run *run, const sigset_t *mask, bd_task_output outputs[2])
{
    bd_remote *r = &t->remote;
    char *agent = quote(run->braid), *command = bd_asprintf("exec %s agent", agent);
    // A shell splits the command, as it does for those of other programs that start ssh.
    char *shell = bd_asprintf("exec %s \"$@\"", run->ssh);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, shell, (char[]){"ssh"}, t->host, command, NULL};
    const bd_process_options options = {.program = "/bin/sh", .argv = argv, .has_input = true, .mask = mask};
    bd_process p;
    const int error = bd_process_start(&p, &options);
    bd_free(shell);
    bd_free(command);
    bd_free(agent);
    if (error) return error;
    t->pid = p.pid;
    *r = (bd_remote){.to = p.in,
                     .from = p.out,
                     .ping_ns = bd_deadline_after_ms(BD_PING_MS),
                     .silence_ns = bd_deadline_after_ms(BD_CONNECT_MS)};
    for (int i = 0; run->keys && i < BD_KEY_FILES; i++) {
        const bd_key_file *f = &run->keys->files[i];
        bd_frame_append_file(&r->sending.data, f->name, f->data.data, f->data.len);
    }
    append_start(&r->sending.data, t, run);
    for (int i = 0; i < 2; i++)
        t->output[i] = (bd_prefixed){.from = -1, .to = &outputs[i], .prefix = t->prefixes[i]};
    t->output[2] = (bd_prefixed){.from = p.err, .to = &outputs[1], .prefix = t->prefixes[1]};
    return 0;
}

// ---- What the agent says ----

static void give_up(bd_task *t, const char *trouble)
{
    t->remote.trouble = trouble;
    t->remote.ping_ns = t->remote.silence_ns = BD_FOREVER;
    if (t->pid) kill(-t->pid, SIGKILL);
}

static void on_done(bd_task *t, const bd_frame *f)
{
    char *text = bd_strndup(f->data, f->len), *line = bd_asprintf("done %s\n", t->supervised.name);
    if (strstr(text, line)) t->supervised.said_done = true;
    bd_free(line);
    bd_free(text);
}

static bool on_frame(bd_task *t, const bd_frame *f)
{
    bd_remote *r = &t->remote;
    if (!r->has_agent) {
        r->has_agent =
            f->type == BD_FRAME_HELLO && f->len == strlen(BD_HELLO) && !memcmp(f->data, BD_HELLO, f->len);
        return r->has_agent;
    }
    switch (f->type) {
    case BD_FRAME_OUT: bd_prefixed_take(&t->output[0], f->data, f->len); return true;
    case BD_FRAME_ERR: bd_prefixed_take(&t->output[1], f->data, f->len); return true;
    case BD_FRAME_DONE: on_done(t, f); return true;
    case BD_FRAME_PING: return true;
    case BD_FRAME_EXIT:
    case BD_FRAME_KILLED:
        r->has_ended = bd_frame_number(f) >= 0;
        *(f->type == BD_FRAME_EXIT ? &r->exit_code : &r->sig) = bd_frame_number(f);
        return r->has_ended;
    default: return false;
    }
}

static void read_frames(bd_task *t)
{
    bd_frame f;
    int more = 0;
    bool is_agent = true;
    while (is_agent && (more = bd_frame_next(&t->remote.receiving, &f)) > 0)
        is_agent = on_frame(t, &f);
    if (!is_agent || more < 0)
        give_up(t, "what came from there is not said by an agent of braid of this version (a start-up "
                   "file of the shell must not print)");
}

static void close_end(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

bool bd_remote_read(bd_task *t)
{
    bd_remote *r = &t->remote;
    bool got = false;
    if (r->from < 0 || r->trouble) return false;
    if (!bd_byte_queue_read(&r->receiving, r->from, &got)) close_end(&r->from);
    if (!got) return false;
    read_frames(t);
    if (r->has_agent && !r->trouble) r->silence_ns = bd_deadline_after_ms(BD_SILENCE_MS);
    return true;
}

void bd_remote_flush(bd_task *t)
{
    if (t->remote.to >= 0 && !bd_byte_queue_write(&t->remote.sending, t->remote.to)) close_end(&t->remote.to);
}

// ---- What it is told ----

void bd_remote_signal(bd_task *t, int sig)
{
    if (sig == SIGKILL && t->pid) kill(-t->pid, SIGKILL);
    if (t->remote.to >= 0) bd_frame_append_number(&t->remote.sending.data, BD_FRAME_SIGNAL, sig);
}

void bd_remote_defer(bd_task *t)
{
    if (t->remote.has_agent) t->remote.silence_ns = bd_deadline_after_ms(BD_SILENCE_MS);
}

int64_t bd_remote_deadline(const bd_task *t)
{
    const bd_remote *r = &t->remote;
    if (!t->pid || r->trouble) return BD_FOREVER;
    return r->ping_ns < r->silence_ns ? r->ping_ns : r->silence_ns;
}

void bd_remote_act(bd_task *t)
{
    bd_remote *r = &t->remote;
    const int64_t now = bd_now_ns();
    if (!t->pid || r->trouble) return;
    if (now >= r->silence_ns) {
        give_up(t, r->has_agent ? "nothing was heard from there for 20 s" : "no agent answered within 60 s");
    } else if (now >= r->ping_ns) {
        if (r->to >= 0) bd_frame_append(&r->sending.data, BD_FRAME_PING, NULL, 0);
        r->ping_ns = bd_deadline_after_ms(BD_PING_MS);
    }
}

void bd_remote_end(bd_task *t)
{
    bd_remote *r = &t->remote;
    while (bd_remote_read(t)) {}
    close_end(&r->to);
    close_end(&r->from);
    bd_byte_queue_fini(&r->sending);
    bd_byte_queue_fini(&r->receiving);
}
