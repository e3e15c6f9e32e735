// A platform of simulated time, where the seed decides which thread runs: whole clusters in one process, and
// the same seed does the same again.
//
// One thread runs at a time. At every lock of a mutex, and whenever it waits, the seed picks who goes on.
// Time stands still while somebody can run (but for the little that looking at the clock costs) and jumps to
// the next deadline when all wait, so that timeouts cost nothing. When all wait and nobody has a deadline,
// the program hangs: it says which threads there are and aborts.
#ifndef BD_BASE_TESTING_SIMULATION_H
#define BD_BASE_TESTING_SIMULATION_H

#include "base/platform.h"
#include <stdbool.h>
#include <stdint.h>

// Puts the platform in place, with the calling thread as its first. Once, before anything else of Braid is
// used: a program that runs several seeds forks for each. The program aborts when simulated time reaches
// `limit_ns`.
void bd_simulation_begin(uint64_t seed, int64_t limit_ns);

// A hash of the history: which threads ran in which order, and when.
uint64_t bd_simulation_history(void);

// Lets other threads run until this time has passed.
void bd_simulation_sleep(int64_t ns);

// How many locks of a mutex there are, on average, from one switch of threads to the next; 8 at first.
void bd_simulation_switch_every(uint64_t locks);

// The simulated time since the beginning, without the cost of looking at the clock.
int64_t bd_simulation_elapsed_ns(void);

// ---- Processes ----
//
// A process is a set of threads that can be killed or stopped as a whole, at any lock or wait of each,
// without a chance to clean up. A mutex that one of its threads has initialized is private to it; all others
// are shared by all, and a thread that holds one is not stopped before it has released it. Memory of a killed
// process is never freed.

typedef struct bd_process bd_process;

// Starts a process, whose threads are that of fn(arg) and those that they start. It lasts as long as the
// program.
bd_process *bd_process_start(const char *name, bd_thread_fn fn, void *arg);
// Starts another thread in it, as a signal handler would run.
void bd_process_add_thread(bd_process *p, const char *name, bd_thread_fn fn, void *arg);
// Ends all of its threads where they are. Does not return if the caller is one of them.
void bd_process_crash(bd_process *p);
void bd_process_pause(bd_process *p, bool is_paused);
// The number of threads that have not ended.
int bd_process_threads(const bd_process *p);

// The process of the calling thread; NULL: of none.
const bd_process *bd_process_self(void);
const char *bd_process_name(const bd_process *p); // "world" for NULL
int bd_process_number(const bd_process *p);       // from 1, in the order of starts; 0 for NULL

#endif
