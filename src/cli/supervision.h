// The rules of `braid run`: which tasks are restarted and when, which are ended, and the exit code of the
// run. It starts and ends no process itself: its environment does, with processes (tasks.c) or with simulated
// ones (tests).
//
// States of a task: running -> ended (exit code known) -> running again, if it is restarted. A run goes
// through: working -> ending (the parameter servers, or on a signal or the time limit all, were asked to end)
// -> killing (what had not ended in time was killed) -> over. While a run is working, a task that fails is
// restarted after a pause, `max_restarts` times at most. A parameter server that failed has lost its
// variables: tasks that had ended well are started again with the next restart. A process of a replicated
// parameter server that fails is no loss while the other one runs: the run fails only with the second.
//
// An evaluator waits for checkpoints of the others. When all of these have ended it has its own limits to end
// by itself; after a failure there is nothing to wait for, and it is asked to end.
//
// A task of Braid says when its work is done (base/done_notice.h), before it ends: a worker when its training
// has ended, a parameter server when all workers have said so. It is not restarted after that, because the
// parameter servers may have ended, too. Nor is a parameter server once the work of all others is done.
#ifndef BD_CLI_SUPERVISION_H
#define BD_CLI_SUPERVISION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bd_supervised {
    // Set before bd_supervision_begin:
    const char *name;              // "worker/1"; "ps/0.1" for replica 1 of a replicated task
    bool is_ps;                    // is asked to end when the others have ended
    bool is_evaluator;             // is asked to end when the others have ended and one has failed
    struct bd_supervised *partner; // the other process of a replicated task; NULL: the task has one
    // Kept by the supervision:
    bool is_running;
    int exit_code;      // of its last end; 128+N when it was killed by signal N
    bool asked_to_end;  // its exit code does not count any more
    int restarts;       // so far, after failures
    int64_t started_ns; // its last start
    int64_t restart_ns; // when it is restarted; BD_FOREVER: it is not
    int first_failure;  // exit code of its first end that was a failure; 0: none
    // Set by the environment: the task has said, since its last start, that its work is done.
    bool said_done;
} bd_supervised;

typedef struct bd_supervision_env {
    bool (*start)(void *arg, bd_supervised *t); // false: it cannot be run
    void (*ask_to_end)(void *arg, bd_supervised *t, int sig);
    void (*kill)(void *arg, bd_supervised *t);
    void (*read_notices)(void *arg); // brings `said_done` of all tasks up to date; NULL: they always are
    void (*say)(void *arg, const char *message);
    void *arg;
} bd_supervision_env;

typedef enum bd_supervision_phase {
    BD_WORKING,
    BD_PS_MAY_END, // the others have ended
    BD_PS_LOST,    // the others may still say so and end
    BD_ENDING,     // all were asked to end
    BD_KILLING
} bd_supervision_phase;

typedef struct bd_supervision {
    // Set before bd_supervision_begin:
    bd_supervision_env env;
    bd_supervised **tasks; // [count]
    int count;
    int max_restarts; // of each task
    int64_t grace_ms; // for which tasks wait for each other
    // Kept:
    bd_supervision_phase phase;
    int64_t phase_deadline; // BD_FOREVER: none
    int64_t ps_lost_ns;     // when a parameter server has lost its variables last; 0: never
    int exit_code;          // the first failure's
    bool has_failed;
} bd_supervision;

// A task that cannot be run ends the run with this.
#define BD_EXIT_CANNOT_RUN 127
// A task on another host ends with this when the connection to it is lost. (ssh's own exit code is the same.)
#define BD_EXIT_CONNECTION_LOST 255
// A task that has not ended this long after it was asked to is killed.
#define BD_KILL_AFTER_MS 5000

// Starts all tasks.
void bd_supervision_begin(bd_supervision *s);
// A running task has ended: with an exit code or, if `sig` is not 0, by a signal.
void bd_supervision_task_ended(bd_supervision *s, bd_supervised *t, int exit_code, int sig);
// Does what is due. Call it at bd_supervision_deadline (BD_FOREVER: never), or at any time.
void bd_supervision_act(bd_supervision *s);
int64_t bd_supervision_deadline(const bd_supervision *s);
// The run fails, unless it has before.
void bd_supervision_fail(bd_supervision *s, int exit_code);
// Asks all tasks that run to end, by the signal. Asked again for it, they are killed.
void bd_supervision_end(bd_supervision *s, int sig);
// The number of tasks that run or are about to be restarted. The run is over when it is 0.
int bd_supervision_running(const bd_supervision *s, bool count_ps);

#endif
