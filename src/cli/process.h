// A child process with streams of its own, and its process group.
#ifndef BD_CLI_PROCESS_H
#define BD_CLI_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct bd_process_options {
    const char *program;    // path
    char *const *argv;      // argv[0] is the program
    char *const *variables; // "NAME=value": take the place of those of this process's environment
    int variable_count;
    const char *directory; // NULL: that of this process
    bool has_input;        // standard input is a pipe; otherwise /dev/null
    bool has_notice;       // the process may say that its work is done (base/done_notice.h)
    const sigset_t *mask;  // its signal mask
} bd_process_options;

typedef struct bd_process {
    pid_t pid; // also its process group
    // This side of its streams, non-blocking; -1: none. The caller closes them.
    int in, out, err, notice;
} bd_process;

// Starts a process, which is killed when this one ends. One that cannot be executed ends with
// BD_EXIT_CANNOT_RUN. Returns 0, or errno.
int bd_process_start(bd_process *p, const bd_process_options *options);

// Makes this process the parent of processes that their own parent has left behind.
void bd_adopt_orphans(void);
// Kills all children, and those that they leave behind.
void bd_kill_children(void);

#endif
